// The client in an aggregator that has a parent: a thread of its own, since it waits for the parent
// while the aggregator listens to its clients. Used by one other thread, which never waits for it.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_PARENT_PARENT_LINK_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_PARENT_PARENT_LINK_H_

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/federation/aggregator/parent/parent_options.h"
#include "comm/federation/client/client.h"
#include "comm/federation/client/round_task.h"
#include "comm/federation/messages.h"

namespace dtnn::federation {

class ParentLink {
 public:
  // Calls at once. `size`: what the aggregator averages.
  ParentLink(const ParentOptions& options, const GroupSize& size);
  ~ParentLink();
  ParentLink(const ParentLink&) = delete;
  ParentLink& operator=(const ParentLink&) = delete;

  void SetSize(const GroupSize& size);
  // The next round, once, when it is there; it is answered before there is another one. The last
  // one is over. The errors of FederationClient.
  absl::StatusOr<std::optional<RoundTask>> Poll();
  void Submit(std::vector<float> mean, Report report);
  void Decline(std::string why);
  // What the client has said and warned of since the last call.
  void LogLines(const std::function<void(std::string_view line)>& say,
                const std::function<void(std::string_view line)>& warn);

 private:
  struct Answer {
    std::vector<float> mean = {};
    Report report = {};
    std::string why_not = {};  // in place of both
  };
  struct Line {
    bool warns = false;
    std::string text;
  };

  ClientOptions OptionsOf(const ParentOptions& options);
  absl::Status Run(const ParentOptions& options);
  absl::StatusOr<Answer> AwaitAnswer();
  void Give(Answer answer);
  void Note(bool warns, std::string_view line);

  std::mutex mutex_;
  std::condition_variable answered_;
  bool stops_ = false;
  GroupSize size_;
  std::optional<RoundTask> task_;
  std::optional<Answer> answer_;
  absl::Status ended_;  // with an error
  std::vector<Line> lines_;
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_PARENT_PARENT_LINK_H_
