package tokens

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// full makes the comparisons with tiktoken-go complete, which takes minutes.
var full = flag.Bool("full", false, "compare all texts of the corpora and all runes")

// Every text in the corpora counts as tiktoken-go counts it: each string of
// each document by itself, and each document as it lies. Without -full it is the
// beginning of the first document of each directory.
func TestCorporaEqualTiktokenGo(t *testing.T) {
	limit, size := 1, 6<<10
	if *full {
		limit, size = 0, 1<<30
	}
	texts, total := 0, 0
	check := func(text string) {
		if len(text) > size {
			text = text[:size] // in the middle of a character, may be
		}
		texts++
		total += len(text)
		compare(t, text)
	}
	for _, document := range corpora(t, limit) {
		check(document.text)
		if *full {
			check(document.raw)
			for _, text := range stringsOf([]byte(document.raw)) {
				check(text)
			}
		}
		if t.Failed() {
			t.Fatalf("in %s", document.name)
		}
	}
	if texts == 0 {
		t.Skip("no corpora at hand")
	}
	t.Logf("%d texts, %d bytes", texts, total)
}

// stress are texts that are hard to cut into pieces right.
func stress() []string {
	contractions := []string{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'l", "'r", "'", "''s", "'st", "'x"}
	texts := []string{
		"", " ", "\n", "\r\n", "'", "\x00", "a\x00b\x00", "\ufeffBOM", "<|endoftext|><|im_start|>system<|im_sep|>",
		"naïve café", "e\u0301\u0301 \u0301 \u0301x !\u0301 \n\u0301a 1\u0301 A\u0301B", "\u0301\u0301\u0301", "\u0301ABC \u0301ABC's",
		"👩‍👩‍👧‍👦👍🏽🏳️‍🌈🇩🇪 family", "😀😀😀", "漢字かな交じり文。日本語ABCdef日本ABC's", "한국어 텍스트 ᄒ\u1161ᆫ", "العَرَبِيَّة ١٢٣٤٥", "हिन्दी में १२३", "ไทยไม่มีช่องว่าง",
		"Ǆǅǆ ǅuro ǅ's AǅB ǈǉ", "ʰello ʰʰ Aʰ aʰB ʰABC", "ⅧⅨ ½¾ ²³¹ 12½3Ⅷ4 ٣٤٥٦", "ªº a\u00adb", "日ABC日ABC 日AB'S AB日's",
		"line\u0085next\u2028para\u2029end \u2028x\u00a0y \u00a0 z\u3000\u3000w\u1680\u180e\u200b",
		"a\r\n\r\nb \r\n c\n \n\n  d\t\te \n", "!\n/\n//\r/x /\n/ ?/\r\n", "\n\n   \n  x", "   ", "x   ", "  x  ", "\t\tx", " \t x", "\v\fx",
		"it'ſ IT'ſ 'ſ can'T we'LL I'Ve you'RE 'Ll 'lL she'D 'KK 'K \u212a'\u212a", "ſ's K's İ's ı's ß's", "don’t we’ll",
		"x1234567890y12 123 1 ١٢٣٤", "1,234,567.89e-10", "   1", " 1 2  3", " \u00bd \u0663",
		"\xff", "\xff\xfe", "a\xffb", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\xaf", "\xe6\xbc", "漢\xe6\xbc'\xffs \xff", "ok \xf0\x9f\x98",
		"\U000e0001\U000e0067\U0001f3f4\U0010ffff\ue000\uffff\ufffd", "\U0001e900\U0001e922 \U00010400\U00010428 \U0001d400\U0001d7ce",
		"func main() {\n\tfmt.Println(\"hi\")\n}\n\n\n// ----====####\n", "{\"a\":[1,2,{\"b\":null}]}", "https://example.com/a/b?c=d&e=%20f#g",
	}
	for _, c := range contractions {
		second := min(2, len(c))
		for _, form := range []string{c, strings.ToUpper(c), strings.ToUpper(c[:second]) + c[second:]} {
			for _, before := range []string{"", "a", "A", "aB", "1", " ", "\n", "!", "日", "\u0301"} {
				texts = append(texts, before+form, before+form+"x", before+form+"X", before+form+" "+form, before+form+"\n")
			}
		}
	}
	for _, unit := range []string{
		"a", "A", "z", "1", " ", "\n", "\r", "\t", "\r\n", "-", "=", "/", "!", ".", "漢", "あ", "한", "ا", "\u0301", "😀", "\u00a0", "\u2028", "\u3000", "'s",
		"'S", "'ll", "'LL", "'re", "aB", "Ab", "ab", " a", "a ", "/\n", " \n", "\n ", "٣", "½", "ǅ", "ʰ", "\xff", "A\u0301", "!\u0301", "日A", "0f", "\x00",
	} {
		for _, n := range []int{2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 79, 80, 81, 82, 128, 129, 200, 300} {
			run := strings.Repeat(unit, n)
			texts = append(texts, run, "x"+run+"y", " "+run+" ", run+"\n")
		}
	}
	return texts
}

func TestStressEqualsTiktokenGo(t *testing.T) {
	for i, text := range stress() {
		if raceEnabled && len(text) > 100 && i%8 != 0 {
			continue
		}
		compare(t, text)
	}
}

// alphabet has characters of each class, the boundaries between which are where
// the patterns differ.
var alphabet = []string{
	"a", "b", "s", "t", "l", "e", "S", "T", "L", "E", "A", "B", "'", "'", "’", "1", "2", "½", "Ⅷ", "٣", " ", " ", "\t", "\n", "\r", "\u00a0", "\u0085",
	"\u2028", "/", "!", "-", ".", "漢", "語", "ʰ", "ǅ", "\u0301", "\u200d", "😀", "é", "É", "ſ", "\u212a", "\xff", "\u0378", "the", "ing", " of", "\U0001e922",
}

func TestRandomTextEqualsTiktokenGo(t *testing.T) {
	rounds := 4000
	if raceEnabled {
		rounds = 400
	}
	if *full {
		rounds = 400_000
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range rounds {
		var text strings.Builder
		few := 1 + rng.IntN(len(alphabet)) // of a few characters, runs come about
		first := rng.IntN(len(alphabet))
		for range 1 + rng.IntN(30) {
			text.WriteString(alphabet[(first+rng.IntN(few))%len(alphabet)])
		}
		compare(t, text.String())
		if t.Failed() {
			return
		}
	}
}

// Every rune counts as tiktoken-go counts it, alone and between others. Without
// -full it is those at which the class changes, and one in 1,009 of the rest.
func TestEveryRuneEqualsTiktokenGo(t *testing.T) {
	classes := newClasses()
	checked := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		edge := r > 0 && classes[r] != classes[r-1]
		if !*full && (!edge || raceEnabled && r%5 != 0) && r%1009 != 0 || !utf8.ValidRune(r) {
			continue
		}
		checked++
		compare(t, fmt.Sprintf("%[1]c", r))
		compare(t, fmt.Sprintf("%[1]cab a%[1]cb AB%[1]cC 1%[1]c2 %[1]c, !%[1]c \n%[1]c\n '%[1]c'll%[1]c", r))
		if t.Failed() {
			t.Fatalf("at %U", r)
		}
	}
	t.Logf("%d runes", checked)
}

// The classes are what package unicode says, rune for rune.
func TestClassesAgreeWithUnicode(t *testing.T) {
	classes := newClasses()
	for r := range rune(len(classes)) {
		want := other
		switch {
		case r == '\r' || r == '\n':
			want = newline
		case unicode.In(r, unicode.Lu, unicode.Lt):
			want = upper
		case unicode.Is(unicode.Ll, r):
			want = lower
		case unicode.IsLetter(r):
			want = caseless
		case unicode.IsMark(r):
			want = mark
		case unicode.IsNumber(r):
			want = number
		case unicode.IsSpace(r):
			want = space
		}
		if classes[r] != want {
			t.Fatalf("class of %U = %b, want %b", r, classes[r], want)
		}
		if got, size := classes.at([]byte(string(r)), 0); utf8.ValidRune(r) && (got != want || size != utf8.RuneLen(r)) {
			t.Fatalf("at(%U) = %b, %d bytes", r, got, size)
		}
	}
}

func FuzzCount(f *testing.F) {
	for i, text := range stress() {
		if i%7 == 0 && len(text) < 200 {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<10 {
			text = text[:1<<10] // tiktoken-go takes quadratic time
		}
		compare(t, text)
		if n := encoderOf(DefaultEncoding).CountBytes([]byte(text)); n != encoderOf(DefaultEncoding).Count(text) {
			t.Errorf("CountBytes = %d, unlike Count", n)
		}
	})
}
