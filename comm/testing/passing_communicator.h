// A communicator that passes everything on to another: for tests that stand in between and override
// Start.

#ifndef DTNN_COMM_TESTING_PASSING_COMMUNICATOR_H_
#define DTNN_COMM_TESTING_PASSING_COMMUNICATOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "comm/communicator.h"

namespace dtnn::testing {

class PassingCommunicator : public Communicator {
 public:
  // `inner` must outlive it.
  explicit PassingCommunicator(Communicator& inner)
      : Communicator(inner.rank(), inner.size(), {}), inner_(inner) {}

  void Abort(const absl::Status& why) override { inner_.Abort(why); }
  std::vector<int> lost() const override { return inner_.lost(); }
  std::optional<int32_t> AwaitDeparture(int rank, Timeout timeout) override {
    return inner_.AwaitDeparture(rank, timeout);
  }
  void set_departure_code(int32_t code) override { inner_.set_departure_code(code); }

 protected:
  struct Done : Work {
    explicit Done(absl::Status s) : status(std::move(s)) {}
    absl::Status Wait() override { return status; }
    absl::Status status;
  };

  std::unique_ptr<Work> Start(const Collective& call) override {
    switch (call.kind) {
      case CollectiveKind::kBarrier:
        return std::make_unique<Done>(inner_.Barrier(call.timeout));
      case CollectiveKind::kBroadcast:
        return inner_.BroadcastAsync(call.output, call.root, call.timeout);
      case CollectiveKind::kAllReduce:
        return inner_.AllReduceAsync(call.input, call.op, call.timeout);
      case CollectiveKind::kAllGather:
        return inner_.AllGatherAsync(call.input, call.output, call.timeout);
      case CollectiveKind::kReduceScatter:
        return inner_.ReduceScatterAsync(call.input, call.output, call.op, call.timeout);
      case CollectiveKind::kAllToAll:
        return inner_.AllToAllAsync(call.input, call.output, call.timeout);
      case CollectiveKind::kSend:
        return inner_.SendAsync(call.input, call.root, call.timeout);
      case CollectiveKind::kReceive:
        return inner_.ReceiveAsync(call.output, call.root, call.timeout);
    }
    return nullptr;
  }

  Communicator& inner_;
};

}  // namespace dtnn::testing

#endif  // DTNN_COMM_TESTING_PASSING_COMMUNICATOR_H_
