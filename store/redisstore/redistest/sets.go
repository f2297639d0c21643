package redistest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Set is a primary with one replica, watched by one Sentinel that may decide
// alone.
type Set struct {
	Primary, Replica, Sentinel *Server
}

// SetName is what the Sentinel calls its set.
const SetName = "pleat"

// StartSet starts a set. Its Sentinel takes a second to miss a primary.
func StartSet(t testing.TB) *Set {
	t.Helper()
	primary := Start(t, "--repl-diskless-sync-delay", "0")
	replica := Start(t, "--replicaof", host+" "+strconv.Itoa(primary.Port()))
	Eventually(t, "the replica follows", func() bool {
		return strings.Contains(fmt.Sprint(replica.Do("INFO", "replication")), "master_link_status:up")
	})
	port := freePort(t)
	config := write(t, t.TempDir(), "sentinel.conf", fmt.Appendf(nil, `port %s
bind %s
sentinel monitor %s %s %d 1
sentinel down-after-milliseconds %s 1000
sentinel failover-timeout %s 5000
`, port, host, SetName, host, primary.Port(), SetName, SetName))
	s := &Server{Addr: host + ":" + port, t: t, args: []string{config, "--sentinel"}, await: monitors}
	s.client = redis.NewClient(&redis.Options{Addr: s.Addr, Protocol: 2})
	t.Cleanup(func() {
		s.Kill()
		_ = s.client.Close()
	})
	s.Start()
	set := &Set{Primary: primary, Replica: replica, Sentinel: s}
	Eventually(t, "the Sentinel knows the replica", func() bool {
		list, ok := s.Do("SENTINEL", "REPLICAS", SetName).([]any)
		return ok && len(list) == 1
	})
	return set
}

// slots is how many slots a Cluster has.
const slots = 16384

// StartCluster starts a Cluster of n primaries without replicas, which share
// the slots evenly. A node that does not answer for a second is taken for lost.
func StartCluster(t testing.TB, n int) []*Server {
	t.Helper()
	nodes := make([]*Server, n)
	buses := make([]string, n)
	for i := range nodes {
		buses[i] = freePort(t)
		nodes[i] = Start(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-port", buses[i])
	}
	for i, node := range nodes {
		node.Do("CLUSTER", "ADDSLOTSRANGE", i*slots/n, (i+1)*slots/n-1)
		node.Do("CLUSTER", "SET-CONFIG-EPOCH", i+1)
		if i > 0 {
			node.Do("CLUSTER", "MEET", host, nodes[0].Port(), buses[0])
		}
	}
	for _, node := range nodes {
		Eventually(t, "the Cluster serves", func() bool {
			info := fmt.Sprint(node.Do("CLUSTER", "INFO"))
			return strings.Contains(info, "cluster_state:ok") &&
				strings.Contains(info, "cluster_known_nodes:"+strconv.Itoa(n)) &&
				strings.Contains(info, "cluster_slots_ok:"+strconv.Itoa(slots))
		})
	}
	return nodes
}
