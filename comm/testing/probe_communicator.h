// A communicator that passes everything on to another, notes sums and broadcasts, and fails when
// told: for tests of what stands on top of a communicator.

#ifndef DTNN_COMM_TESTING_PROBE_COMMUNICATOR_H_
#define DTNN_COMM_TESTING_PROBE_COMMUNICATOR_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "comm/communicator.h"
#include "tensor/status_macros.h"

namespace dtnn::testing {

class ProbeCommunicator : public Communicator {
 public:
  // `inner` must outlive the probe.
  explicit ProbeCommunicator(Communicator& inner)
      : Communicator(inner.rank(), inner.size(), {}), inner_(inner) {}

  // All-reduce number `count` from now, from 0, fails instead of being passed on, and breaks the
  // group.
  void FailAfter(int64_t count) { left_ = count; }
  // The same, but it is passed on, and done by all ranks when this one fails.
  void FailWhenDone(int64_t count) {
    left_ = count;
    when_done_ = true;
  }

  // Elements of every all-reduce so far.
  const std::vector<int64_t>& sizes() const { return sizes_; }
  // Elements of every broadcast so far.
  const std::vector<int64_t>& broadcasts() const { return broadcasts_; }
  // All-reduces that nobody has waited for yet.
  int outstanding() const { return outstanding_; }

  void Abort(const absl::Status& why) override { inner_.Abort(why); }
  std::vector<int> lost() const override { return inner_.lost(); }
  std::optional<int32_t> AwaitDeparture(int rank, Timeout timeout) override {
    return inner_.AwaitDeparture(rank, timeout);
  }
  void set_farewell(int32_t word) override { inner_.set_farewell(word); }

 protected:
  std::unique_ptr<Work> Start(const Collective& call) override {
    switch (call.kind) {
      case CollectiveKind::kBarrier:
        return std::make_unique<Done>(inner_.Barrier(call.timeout));
      case CollectiveKind::kBroadcast:
        broadcasts_.push_back(call.output.num_elements());
        return inner_.BroadcastAsync(call.output, call.root, call.timeout);
      case CollectiveKind::kAllGather:
        return inner_.AllGatherAsync(call.input, call.output, call.timeout);
      case CollectiveKind::kSend:
        return inner_.SendAsync(call.input, call.root, call.timeout);
      case CollectiveKind::kReceive:
        return inner_.ReceiveAsync(call.output, call.root, call.timeout);
      case CollectiveKind::kAllReduce:
        break;
    }
    sizes_.push_back(call.input.num_elements());
    if (left_-- == 0) {
      absl::Status status = absl::UnavailableError("the probe was told to fail");
      if (when_done_) {
        return std::make_unique<Failing>(inner_.AllReduceAsync(call.input, call.op, call.timeout),
                                         inner_, status);
      }
      inner_.Abort(status);
      return std::make_unique<Done>(status);
    }
    ++outstanding_;
    return std::make_unique<Counted>(inner_.AllReduceAsync(call.input, call.op, call.timeout),
                                     outstanding_);
  }

 private:
  struct Done : Work {
    explicit Done(absl::Status s) : status(std::move(s)) {}
    absl::Status Wait() override { return status; }
    absl::Status status;
  };
  struct Failing : Work {
    Failing(std::unique_ptr<Work> w, Communicator& g, absl::Status s)
        : work(std::move(w)), group(g), status(std::move(s)) {}
    absl::Status Wait() override {
      DTNN_RETURN_IF_ERROR(work->Wait());
      group.Abort(status);
      return status;
    }
    std::unique_ptr<Work> work;
    Communicator& group;
    absl::Status status;
  };
  struct Counted : Work {
    Counted(std::unique_ptr<Work> w, int& count) : work(std::move(w)), outstanding(count) {}
    ~Counted() override {
      work = nullptr;
      if (!waited) --outstanding;
    }
    absl::Status Wait() override {
      const absl::Status status = work->Wait();
      if (!std::exchange(waited, true)) --outstanding;
      return status;
    }
    std::unique_ptr<Work> work;
    int& outstanding;
    bool waited = false;
  };

  Communicator& inner_;
  int64_t left_ = std::numeric_limits<int64_t>::max();
  bool when_done_ = false;
  std::vector<int64_t> sizes_, broadcasts_;
  int outstanding_ = 0;
};

}  // namespace dtnn::testing

#endif  // DTNN_COMM_TESTING_PROBE_COMMUNICATOR_H_
