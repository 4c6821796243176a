// A communicator that passes everything on to another, notes sums and broadcasts, and fails when
// told: for tests of what stands on top of a communicator.

#ifndef DTNN_COMM_TESTING_PROBE_COMMUNICATOR_H_
#define DTNN_COMM_TESTING_PROBE_COMMUNICATOR_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "comm/communicator.h"
#include "comm/testing/passing_communicator.h"
#include "tensor/status_macros.h"

namespace dtnn::testing {

class ProbeCommunicator : public PassingCommunicator {
 public:
  // `inner` must outlive the probe.
  explicit ProbeCommunicator(Communicator& inner) : PassingCommunicator(inner) {}

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

 protected:
  std::unique_ptr<Work> Start(const Collective& call) override {
    if (call.kind == CollectiveKind::kBroadcast) {
      broadcasts_.push_back(call.output.num_elements());
    }
    if (call.kind != CollectiveKind::kAllReduce) return PassingCommunicator::Start(call);
    sizes_.push_back(call.input.num_elements());
    if (left_-- == 0) {
      absl::Status status = absl::UnavailableError("the probe fails on request");
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

  int64_t left_ = std::numeric_limits<int64_t>::max();
  bool when_done_ = false;
  std::vector<int64_t> sizes_, broadcasts_;
  int outstanding_ = 0;
};

}  // namespace dtnn::testing

#endif  // DTNN_COMM_TESTING_PROBE_COMMUNICATOR_H_
