// The links of one process to others whose ranks it knows, over datagrams that they share: of a
// rank to all others, or of a caller to the one that serves.

#ifndef DTNN_COMM_TRANSPORT_RELAY_RELAY_LINKS_H_
#define DTNN_COMM_TRANSPORT_RELAY_RELAY_LINKS_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/transport/relay/datagrams.h"
#include "comm/transport/relay/relay_link.h"
#include "comm/transport/relay/shared_datagrams.h"
#include "comm/transport/stream.h"

namespace dtnn {

class RelayLinks {
 public:
  // `card`: of this process, whose rank is among `size`.
  RelayLinks(std::unique_ptr<Datagrams> datagrams, const RelayLink::Card& card, int size,
             const std::vector<int>& peers, const JobSecret& secret);

  // Opens the datagrams, and calls the lower ranks until all links are there. Waits as the options
  // say; Unavailable after `most`. For messages: `who`, "rank 3", waits for `whom(missing ranks)`.
  absl::Status Meet(const std::string& who,
                    const std::function<std::string(const std::vector<int>& missing)>& whom,
                    const CommunicatorOptions& patience,
                    std::chrono::milliseconds most = std::chrono::hours(9999));

  // After that:
  const RelayLink& link(int peer) const { return *links_.at(peer); }
  std::string name() const { return datagrams_.name(); }
  // One, which keeps `links`.
  static std::unique_ptr<Stream> StreamTo(int peer, std::shared_ptr<RelayLinks> links);

 private:
  absl::Status Open(const CommunicatorOptions& patience);
  absl::Status FlushAll(const std::string& who, const CommunicatorOptions& patience);
  void Hear(std::string_view bytes);
  void Notify();
  // Those that have not been heard of; the error of a link that has no hope.
  absl::StatusOr<std::vector<int>> Missing(const std::string& who) const;
  std::string Refused() const;

  const JobSecret secret_;
  const Instance me_;
  std::map<int, std::unique_ptr<RelayLink>> links_;  // by rank; the same ones from now on
  std::mutex mutex_;
  std::condition_variable changed_;
  bool news_ = false;
  SharedDatagrams datagrams_;  // the first to go: its threads use the others
};

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_RELAY_RELAY_LINKS_H_
