#include "tensor/gpu/simulated/kernel_runner.h"

#include <algorithm>
#include <cstring>

#include "tensor/errors.h"
#include "tensor/gpu/simulated/faults.h"
#include "tensor/gpu/simulated/fiber.h"

namespace dtnn::gpu {
namespace {

Dim3 At(uint64_t flat, const Dim3& size) {
  return {uint32_t(flat % size.x), uint32_t(flat / size.x % size.y),
          uint32_t(flat / size.x / size.y)};
}

std::string ToString(const Dim3& dim) { return StrCat(dim.x, ",", dim.y, ",", dim.z); }

// A place where `members` threads wait until all have come. Two rounds of values: a thread may be a
// meeting ahead of others that have not yet read what the last one brought.
struct Meeting {
  const char* what = nullptr;
  uint32_t arrived = 0, round = 0;
  uint64_t values[2][kWarpSize] = {};
};

}  // namespace

OwnedKernel::OwnedKernel(const Kernel& kernel)
    : name(kernel.name),
      grid(kernel.grid),
      block(kernel.block),
      shared_bytes(kernel.shared_bytes),
      cooperation(kernel.cooperation),
      arguments(new std::byte[std::max<size_t>(kernel.argument_bytes, 1)]),
      simulate(kernel.simulate) {
  if (kernel.argument_bytes > 0) {
    std::memcpy(arguments.get(), kernel.arguments, kernel.argument_bytes);
  }
}

// The block that runs, and the fibers of its threads.
class KernelRunner::Block final : public SimulatedBlock {
 public:
  std::string Begin(const OwnedKernel& kernel) {
    kernel_ = &kernel;
    threads_ = uint32_t(kernel.block.count());
    if (shared_ == nullptr || shared_->bytes() != kernel.shared_bytes) {
      if (shared_ != nullptr) UnregisterMapping(shared_.get());
      shared_ = nullptr;
      if (kernel.shared_bytes == 0) return "";
      auto shared = Mapping::Create(kernel.shared_bytes);
      if (!shared.ok()) return std::string(shared.status().message());
      shared_ = *std::move(shared);
      RegisterMapping(shared_.get(), StrCat(kernel.shared_bytes, " bytes of shared memory"));
    }
    return "";
  }
  ~Block() {
    if (shared_ != nullptr) UnregisterMapping(shared_.get());
  }

  // Runs one block; `backwards`: threads begin with the last.
  std::string Run(uint64_t number, bool backwards) {
    index_ = At(number, kernel_->grid);
    backwards_ = backwards;
    error_.clear();
    if (shared_ != nullptr) std::memset(shared_->host(), 0xff, kernel_->shared_bytes);
    if (kernel_->cooperation == Cooperation::kNone) {
      RunIndependent();
    } else {
      RunTogether();
    }
    if (error_.empty()) return "";
    return StrCat("block ", ToString(index_), ", ", error_);
  }

  const uint64_t* MeetWarp(uint32_t thread, const char* what, uint64_t value,
                           void (*combine)(uint64_t*)) override {
    Needs(Cooperation::kWarp, thread, what);
    Meeting& meeting = warps_[thread / kWarpSize];
    Join(meeting, thread, what);
    const uint32_t round = meeting.round;
    uint64_t* const values = meeting.values[round % 2];
    values[thread % kWarpSize] = value;
    if (++meeting.arrived == kWarpSize) {
      if (combine != nullptr) combine(values);
      Complete(meeting);
    }
    WaitFor(meeting, round, thread);
    return values;
  }

  bool MeetBlock(uint32_t thread, bool value) override {
    Needs(Cooperation::kBlock, thread, "Barrier");
    Meeting& meeting = all_;
    Join(meeting, thread, "Barrier");
    const uint32_t round = meeting.round;
    uint64_t& any = meeting.values[round % 2][0];
    any = value || (meeting.arrived > 0 && any != 0);
    if (++meeting.arrived == threads_) Complete(meeting);
    WaitFor(meeting, round, thread);
    return any != 0;
  }

  std::byte* shared() override { return shared_ == nullptr ? nullptr : shared_->host(); }

 private:
  struct Lane {
    Fiber fiber;
    FaultGuard guard;
    Block* block = nullptr;
    uint32_t thread = 0;
    bool alive = false;
    const char* waits_for = nullptr;
  };

  SimulatedThread ThreadAt(uint32_t thread) {
    return {this, kernel_->grid, kernel_->block, index_, At(thread, kernel_->block)};
  }

  uint32_t InOrder(uint32_t i, uint32_t count) const { return backwards_ ? count - 1 - i : i; }

  void Fail(uint32_t thread, std::string_view error) {
    if (!error_.empty()) return;
    error_ = StrCat("thread ", ToString(At(thread, kernel_->block)), ": ", error);
  }

  void RunIndependent() {
    const auto run = [](void* self) {
      Block& block = *static_cast<Block*>(self);
      for (uint32_t i = 0; i < block.threads_; ++i) {
        block.running_ = block.InOrder(i, block.threads_);
        block.kernel_->simulate(block.kernel_->arguments.get(), block.ThreadAt(block.running_));
      }
    };
    if (const std::string fault = guard_.Run(run, this); !fault.empty()) Fail(running_, fault);
  }

  static void RunLane(void* argument) {
    Lane& lane = *static_cast<Lane*>(argument);
    const auto run = [](void* self) {
      Lane& lane = *static_cast<Lane*>(self);
      const OwnedKernel& kernel = *lane.block->kernel_;
      kernel.simulate(kernel.arguments.get(), lane.block->ThreadAt(lane.thread));
    };
    const std::string fault = lane.guard.Run(run, &lane);
    if (!fault.empty()) lane.block->Fail(lane.thread, fault);
  }

  // Warp after warp, or all threads at once.
  void RunTogether() {
    const uint32_t gang = kernel_->cooperation == Cooperation::kWarp ? kWarpSize : threads_;
    warps_.assign(threads_ / kWarpSize, {});
    all_ = {};
    while (lanes_.size() < gang) lanes_.push_back(std::make_unique<Lane>());
    for (uint32_t i = 0; i < threads_ / gang && error_.empty(); ++i) {
      RunGang(InOrder(i, threads_ / gang) * gang, gang);
    }
  }

  void RunGang(uint32_t first, uint32_t count) {
    first_ = first;
    for (uint32_t i = 0; i < count; ++i) {
      Lane& lane = *lanes_[i];
      lane.block = this;
      lane.thread = first + i;
      lane.alive = true;
      lane.fiber.Start(RunLane, &lane);
    }
    for (bool any = true; any && error_.empty();) {
      any = false;
      progress_ = false;
      for (uint32_t i = 0; i < count && error_.empty(); ++i) {
        Lane& lane = *lanes_[InOrder(i, count)];
        if (!lane.alive) continue;
        lane.alive = lane.fiber.Resume();
        any |= lane.alive;
        progress_ |= !lane.alive;
      }
      if (any && !progress_ && error_.empty()) ReportLeftBehind(count);
    }
  }

  // No lane can continue: some have ended, or wait for others elsewhere.
  void ReportLeftBehind(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      const Lane& lane = *lanes_[i];
      if (!lane.alive) continue;
      return Fail(lane.thread, StrCat("waits at ", lane.waits_for,
                                      " for threads that have ended or wait elsewhere; all threads "
                                      "of a warp, or of the block, have to come"));
    }
  }

  // Ends the kernel if its threads do not wait for each other as `what` does. Meetings of warps
  // exist only after this.
  void Needs(Cooperation least, uint32_t thread, const char* what) {
    progress_ = true;
    if (kernel_->cooperation < least) {
      Fail(thread, StrCat("calls ", what, " in a kernel whose threads do not wait for each other"));
      Leave(thread);
    }
  }

  void Join(Meeting& meeting, uint32_t thread, const char* what) {
    if (meeting.arrived > 0 && std::strcmp(meeting.what, what) != 0) {
      Fail(thread,
           StrCat("calls ", what, " where another thread of the warp calls ", meeting.what));
      Leave(thread);
    }
    meeting.what = what;
  }

  void Complete(Meeting& meeting) {
    meeting.arrived = 0;
    ++meeting.round;
  }

  void WaitFor(const Meeting& meeting, uint32_t round, uint32_t thread) {
    Lane& lane = *lanes_[thread - first_];
    lane.waits_for = meeting.what;
    while (meeting.round == round) {
      lane.fiber.Yield();
      lane.guard.Activate();
    }
  }

  // Ends a kernel that has failed, from inside a thread: nothing on its stack is destroyed.
  void Leave(uint32_t thread) {
    if (kernel_->cooperation == Cooperation::kNone) guard_.Leave();
    while (true) lanes_[thread - first_]->fiber.Yield();  // and is not resumed
  }

  const OwnedKernel* kernel_ = nullptr;
  uint32_t threads_ = 0;
  std::unique_ptr<Mapping> shared_;
  Dim3 index_;
  bool backwards_ = false;
  std::string error_;

  FaultGuard guard_;  // of threads that wait for nobody
  uint32_t running_ = 0;

  std::vector<std::unique_ptr<Lane>> lanes_;
  uint32_t first_ = 0;  // thread of the first lane
  bool progress_ = false;
  std::vector<Meeting> warps_;
  Meeting all_;
};

KernelRunner::KernelRunner(const Philox& random)
    : random_(random), block_(std::make_unique<Block>()) {}
KernelRunner::~KernelRunner() = default;

std::string KernelRunner::Run(const OwnedKernel& kernel) {
  std::string error = block_->Begin(kernel);
  if (!error.empty()) return error;
  const std::array<uint32_t, 4> random = random_.Block(runs_++);
  const uint64_t blocks = uint64_t(kernel.grid.count()), start = random[0] % blocks;
  for (uint64_t i = 0; i < blocks && error.empty(); ++i) {
    error = block_->Run((start + i) % blocks, (random[1] & 1) != 0);
  }
  return error;
}

}  // namespace dtnn::gpu
