package main

import "strings"

// demoBeats is how many turns each topic takes: it is raised, doubted and
// settled.
const demoBeats = 3

// demoMaxTurns is how long the demo's conversation can get.
func demoMaxTurns() int { return demoBeats * len(demoTopics()) }

// demoSystem is the conversation's system message.
const demoSystem = "You help the operations team of Larkspur Books, an online shop for second-hand books, " +
	"to plan the move of its order system from the server db-7 to a new PostgreSQL cluster. " +
	"Be concrete: name the step, who does it and how we see that it worked."

// demoTurn is turn n of the conversation, from 0: what the user says, and what
// the scripted model answers. The same n gives the same text.
func demoTurn(n int) (user, assistant string) {
	all := demoTopics()
	at := n / demoBeats % len(all)
	beat := demoScript()[n%demoBeats]
	facts := all[at].facts(all[(at+1)%len(all)])
	return facts.Replace(beat.user[at%len(beat.user)]), facts.Replace(beat.assistant[at%len(beat.assistant)])
}

// facts puts the topic's facts in the places of their names in braces. A name
// with a small letter begins its text with one.
func (t demoTopic) facts(next demoTopic) *strings.Replacer {
	return strings.NewReplacer(
		"{subject}", t.subject, "{next}", next.subject,
		"{fact}", t.fact, "{limit}", t.limit, "{worry}", t.worry,
		"{Advice}", t.advice, "{advice}", lower(t.advice), "{reason}", t.reason, "{check}", lower(t.check),
		"{owner}", t.owner, "{artifact}", t.artifact, "{date}", t.date,
	)
}

// lower begins a text with a small letter, to be used inside a sentence.
func lower(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// demoBeat is one step of every topic, in several wordings that are used in
// turn.
type demoBeat struct{ user, assistant []string }

func demoScript() [demoBeats]demoBeat {
	return [demoBeats]demoBeat{
		{
			user: []string{
				"Let us turn to {subject}. {fact} One thing is not open for discussion. {limit} I would like a proposal that the team can start on this week, with a name next to it, and I would rather have one step too many than a surprise at four in the morning. What do you suggest?",
				"Next on my list: {subject}. {fact} Before you answer, keep this in mind. {limit} The others have read your earlier points and liked that each of them ended in something one can check, so please do it the same way here. Where would you begin?",
				"I had a long talk about {subject} with the team today. {fact} And there is a condition that came from the management. {limit} We went round in circles for an hour, mostly because everybody had another picture of the first step. Can you cut through it?",
				"Now to {subject}, which I have been putting off. {fact} Please also take this as given. {limit} If it needs more people than we have, say so now; I can still ask the warehouse for help until the end of the week. What is your plan?",
			},
			assistant: []string{
				"I would do it like this. {Advice}, {reason}. {owner} should own it, since the work touches nothing that others are changing that week, and should leave the result in {artifact} so that the rehearsal uses the same thing. To know that it worked: {check}. If that is done by {date} there are enough days left to do it a second time.",
				"The short version: {advice}. I would not do it any other way, {reason}. Put the work into {artifact} and let {owner} drive it, with a second pair of eyes on the first run. The test comes before the work: {check}. I would set the date to {date} and move other things rather than this one.",
				"Three points. First, the step itself: {advice}, {reason}. Second, the place: everything goes into {artifact}, nothing stays in anybody's shell history, and {owner} answers for it. Third, the proof: {check}. Plan it for {date} and treat the proof as part of the step, not as something for later.",
			},
		},
		{
			user: []string{
				"That sounds right, but I am still afraid {worry}. It happened to us once, in a smaller way, and it took two days until anybody saw it. {owner} has asked the same thing and would like to know what we do if it shows only after the switch. Does your proposal for {subject} cover that, or do we need another step?",
				"I showed this to {owner}. The answer was that it will do, with one worry left: {worry}. Nobody could say how likely it is, and I do not want to find out on the night. Is there a way to make sure of {subject} that does not cost us another week?",
				"Good. What keeps me awake is the thought {worry}. You know how it goes: each step is fine by itself, and together they are not. {owner} would take an extra evening to rule it out, if you can say what exactly should be tried out for {subject}.",
			},
			assistant: []string{
				"It is a fair question. The step as it stands makes it unlikely, but unlikely is not enough here. So add a guard: let the script stop by itself when the check fails, print which rows or names are concerned, and change nothing further. {owner} can build that into {artifact} in half a day. If it stops on the night, we lose ten minutes and no data, and the way back stays open.",
				"You can rule it out before the night. Break it on purpose: on stage-2, take the state from before the step, damage it the way you fear, and see whether the check notices. Keep the case next to {artifact}, so that it is run each time and not only once. {owner} will need about three hours. The step itself need not change, {reason}.",
				"I would split the worry in two. What can be seen at once is caught when we do what we said: {check}. What shows only later needs a watch: one query, run each hour for the first week, that counts what should not exist. {owner} writes it next to {artifact}, and the result goes to the channel that the whole team reads. More than zero means that we stop and look, nothing else.",
			},
		},
		{
			user: []string{
				"Then that is decided: {owner} does it, it goes into {artifact}, and the date is {date}. I have put it into the calendar and told the others. Could you sum up what we said about {subject} in two or three sentences that I can paste into the plan? After that I want to talk about {next}, because those who know most about it leave on Friday.",
				"Agreed. I have noted {owner} for it, with {date} as the date and {artifact} as the place where it lives. Please write down what we decided on {subject}, short enough for the wall in the office. Tomorrow we go on with {next}; somebody has found old notes that contradict each other.",
				"All right, let us do it that way. {owner} has said yes, {artifact} exists as an empty draft and {date} is fixed. Give me the decision on {subject} in a form that somebody understands who was not here. And start thinking about {next}, I have a feeling that it will be difficult.",
			},
			assistant: []string{
				"For the plan: we settled {subject}. {Advice}, {reason}. Responsible is {owner}, the work is in {artifact}, due on {date}. It counts as done when this holds: {check}. If the check fails, the step stops and nothing after it begins; what to do then stands on the same page.",
				"Here it is. Subject: {subject}. Decision: {advice}, {reason}. Owner: {owner}. Where: {artifact}. When: {date} at the latest. Done when: {check}. Open: nothing that blocks us, only the guard against the fault that you described, which comes with the first run.",
			},
		},
	}
}
