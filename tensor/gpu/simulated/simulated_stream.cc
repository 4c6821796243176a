#include <algorithm>
#include <cstring>

#include "tensor/errors.h"
#include "tensor/gpu/simulated/simulated_gpu.h"

namespace dtnn::gpu {
namespace {

Philox RandomOf(uint64_t seed, size_t stream, uint64_t use) {
  return Philox(seed, StreamId(RandomPurpose::kTest, uint64_t{stream} * 4 + use));
}

}  // namespace

SimulatedStream::SimulatedStream(SimulatedGpu& gpu, std::string_view name, size_t index)
    : Stream(gpu, name),
      gpu_(gpu),
      world_(*gpu.world_),
      index_(index),
      runner_(RandomOf(gpu.config_.seed, index, 0)),
      queue_(std::make_shared<WorkQueue>(RandomOf(gpu.config_.seed, index, 1),
                                         gpu.config_.most_delay_us)) {}

SimulatedStream::~SimulatedStream() {
  queue_->Wait();
  const std::lock_guard lock(world_.mutex);
  world_.HostWaitedFor(clock_);
  gpu_.streams_.erase(this);
  if (capture_ != nullptr) LeaveCapture();
}

// A stream that is destroyed spoils its capture, or ends it.
void SimulatedStream::LeaveCapture() {
  (void)capture_->Spoil(CaptureError::kInvalidated, Named("was destroyed during a capture"));
  capture_->Leave(this);
  if (capture_->origin() != this) return;
  for (SimulatedStream* const other : capture_->streams()) other->capture_ = nullptr;
  capture_->End();
  std::erase(world_.captures, capture_);
}

std::string SimulatedStream::Named(std::string_view what) const {
  return StrCat(gpu_.name(), ", stream ", name(), ": ", what);
}

void SimulatedStream::Push(Work work) {
  queue_->Push([this, work = std::move(work)] { work(runner_); });
}

absl::Status SimulatedStream::Counted(const absl::Status& status, int64_t& calls) {
  if (status.ok()) ++calls;
  return status;
}

absl::Status SimulatedStream::Enqueue(std::string what, std::span<const Touch> touches, Work work) {
  DTNN_RETURN_IF_ERROR(gpu_.CheckError());
  Work unless_failed = [gpu = &gpu_, work = std::move(work)](KernelRunner& runner) {
    if (!gpu->failed()) work(runner);
  };
  Clock& clock = capture_ != nullptr ? place_.clock : clock_;
  const uint64_t number = clock.Tick(index_);
  auto operation = std::make_shared<const Operation>(
      Operation{StrCat(what, " on stream ", name()), index_, number});
  if (capture_ != nullptr) {
    return capture_->Add(std::move(operation), place_, touches, std::move(unless_failed));
  }
  clock.Merge(world_.host);
  DTNN_RETURN_IF_ERROR(world_.history.Add(operation, clock, touches));
  gpu_.TakeFromHost(operation, touches);
  Push(std::move(unless_failed));
  return absl::OkStatus();
}

absl::Status SimulatedStream::DoCopy(std::byte* to, const std::byte* from, size_t bytes) {
  const std::lock_guard lock(world_.mutex);
  std::byte *target, *source;
  const Access read = {const_cast<std::byte*>(from), bytes, 1, 0, AccessMode::kRead};
  DTNN_ASSIGN_OR_RETURN(const Touch reads, gpu_.TouchOf(read, &source));
  DTNN_ASSIGN_OR_RETURN(const Touch writes,
                        gpu_.TouchOf({to, bytes, 1, 0, AccessMode::kWrite}, &target));
  return Counted(Enqueue(StrCat("a copy of ", bytes, " bytes"), std::vector<Touch>{reads, writes},
                         [=](KernelRunner&) { std::memcpy(target, source, bytes); }),
                 gpu_.calls_.copies);
}

absl::Status SimulatedStream::DoFill(std::byte* to, uint8_t value, size_t bytes) {
  const std::lock_guard lock(world_.mutex);
  std::byte* target;
  DTNN_ASSIGN_OR_RETURN(const Touch writes,
                        gpu_.TouchOf({to, bytes, 1, 0, AccessMode::kWrite}, &target));
  return Counted(Enqueue(StrCat("a fill of ", bytes, " bytes"), std::vector<Touch>{writes},
                         [=](KernelRunner&) { std::memset(target, value, bytes); }),
                 gpu_.calls_.fills);
}

// On a real GPU the kernel would fail.
absl::Status CheckAlignment(const Access& access) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(access.begin);
  const size_t pitch = access.rows > 1 ? access.pitch : 0;
  if ((begin | pitch) % access.alignment == 0) return absl::OkStatus();
  return InvalidArgument("it takes ", access.alignment, " bytes at once, from beginnings that are ",
                         "not multiples of that: the first is ", begin % access.alignment,
                         " bytes behind one, and they are ", pitch, " bytes apart");
}

absl::Status SimulatedStream::DoLaunch(const Kernel& kernel) {
  const std::lock_guard lock(world_.mutex);
  const auto owned = std::make_shared<const OwnedKernel>(kernel);
  Accesses accesses;
  kernel.declare(owned->arguments.get(), accesses);
  std::vector<Touch> touches;
  for (const Accesses::Item& item : accesses.items()) {
    std::byte* view;
    DTNN_RETURN_IF_ERROR(WithContext(CheckAlignment(item.access), "pointer ", touches.size() + 1,
                                     " that it declares"));
    auto touch = gpu_.TouchOf(item.access, &view);
    if (!touch.ok()) {
      return WithContext(touch.status(), "pointer ", touches.size() + 1, " that it declares");
    }
    touches.push_back(*std::move(touch));
    std::memcpy(item.argument, &view, sizeof(view));
  }
  Work work = [gpu = &gpu_, owned, name = name()](KernelRunner& runner) {
    const std::string error = runner.Run(*owned);
    if (error.empty()) return;
    gpu->Fail(StrCat("kernel ", Quoted(owned->name), " on stream ", name, ", ", error));
  };
  return Counted(Enqueue(StrCat("kernel ", Quoted(kernel.name)), touches, std::move(work)),
                 gpu_.calls_.launches);
}

absl::Status SimulatedStream::Record(Event& event) {
  auto& recorded = static_cast<SimulatedEvent&>(event);
  const std::lock_guard lock(world_.mutex);
  DTNN_RETURN_IF_ERROR(gpu_.CheckError());
  const auto occurrence = std::make_shared<Occurrence>();
  recorded.last_ = occurrence;
  if (capture_ != nullptr) {
    occurrence->capture = capture_;
    occurrence->clock = place_.clock;
    occurrence->after = place_.after;
    return capture_->CheckNotSpoiled();
  }
  occurrence->clock = clock_;
  Push([occurrence](KernelRunner&) {
    occurrence->time = std::chrono::steady_clock::now();
    occurrence->done.Store(1, std::memory_order_seq_cst);  // as WorkQueue::Push
    occurrence->done.Wake();
  });
  return absl::OkStatus();
}

absl::Status SimulatedStream::Wait(const Event& event) {
  const std::lock_guard lock(world_.mutex);
  DTNN_RETURN_IF_ERROR(gpu_.CheckError());
  const auto occurrence = static_cast<const SimulatedEvent&>(event).last_;
  if (occurrence == nullptr) {
    return FailedPrecondition(Named("waiting for an event that was never recorded"));
  }
  if (capture_ != nullptr || occurrence->capture != nullptr) return WaitInCapture(*occurrence);
  clock_.Merge(occurrence->clock);
  Push([occurrence](KernelRunner&) { occurrence->AwaitDone(); });
  return absl::OkStatus();
}

absl::Status SimulatedStream::WaitInCapture(const Occurrence& occurrence) {
  const std::shared_ptr<Capture>& theirs = occurrence.capture;
  if (theirs == nullptr) {
    return capture_->Spoil(CaptureError::kIsolation,
                           Named("waiting, in a capture, for an event recorded outside of it"));
  }
  if (theirs->ended()) {
    const std::string text = Named("waiting for an event of a capture that has ended");
    return capture_ == nullptr ? ToStatus(CaptureError::kCapturedEvent, text)
                               : capture_->Spoil(CaptureError::kIsolation, text);
  }
  if (capture_ != nullptr && capture_ != theirs) {
    return capture_->Spoil(CaptureError::kMerge, Named("waiting for an event of another capture"));
  }
  DTNN_RETURN_IF_ERROR(theirs->CheckNotSpoiled());
  if (capture_ == nullptr) {
    capture_ = theirs;
    capture_->Join(this);
    place_ = {};
  }
  place_.clock.Merge(occurrence.clock);
  for (const size_t node : occurrence.after) {
    if (std::ranges::count(place_.after, node) == 0) place_.after.push_back(node);
  }
  return absl::OkStatus();
}

absl::Status SimulatedStream::CheckMayWait(std::string_view what) {
  DTNN_RETURN_IF_ERROR(world_.CheckThreadDoesNotCapture(Named(what)));
  if (capture_ == nullptr) return absl::OkStatus();
  return capture_->Spoil(CaptureError::kUnsupported, Named(StrCat(what, ", which is captured")));
}

absl::Status SimulatedStream::Synchronize() {
  {
    const std::lock_guard lock(world_.mutex);
    DTNN_RETURN_IF_ERROR(CheckMayWait("synchronising the stream"));
    ++gpu_.calls_.waits_for_all;
  }
  queue_->Wait();
  const std::lock_guard lock(world_.mutex);
  world_.HostWaitedFor(clock_);
  return gpu_.CheckError();
}

absl::StatusOr<bool> SimulatedStream::Query() {
  const std::lock_guard lock(world_.mutex);
  DTNN_RETURN_IF_ERROR(CheckMayWait("querying the stream"));
  DTNN_RETURN_IF_ERROR(gpu_.CheckError());
  if (!queue_->Done()) return false;
  world_.HostWaitedFor(clock_);
  return true;
}

absl::Status SimulatedStream::BeginCapture() {
  const std::lock_guard lock(world_.mutex);
  DTNN_RETURN_IF_ERROR(gpu_.CheckError());
  if (capture_ != nullptr) {
    return ToStatus(CaptureError::kIllegalState, Named("beginning a capture in a capture"));
  }
  capture_ = std::make_shared<Capture>(this);
  place_ = {};
  world_.captures.push_back(capture_);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Graph>> SimulatedStream::EndCapture() {
  const std::lock_guard lock(world_.mutex);
  if (capture_ == nullptr) {
    return ToStatus(CaptureError::kIllegalState, Named("ending a capture that was not begun"));
  }
  if (capture_->origin() != this) {
    return capture_->Spoil(CaptureError::kUnmatched,
                           Named("ending a capture that was begun on another stream"));
  }
  if (!capture_->OfThisThread()) {
    return capture_->Spoil(CaptureError::kWrongThread,
                           Named("ending a capture that another thread began"));
  }
  const std::shared_ptr<Capture> capture = capture_;
  for (SimulatedStream* const stream : capture->streams()) {
    if (!place_.clock.Covers(stream->place_.clock)) {
      (void)capture->Spoil(CaptureError::kUnjoined,
                           Named(StrCat("ending a capture: stream ", stream->name(),
                                        " has work that this one does not wait for")));
    }
  }
  for (SimulatedStream* const stream : capture->streams()) stream->capture_ = nullptr;
  capture->End();
  std::erase(world_.captures, capture);
  DTNN_RETURN_IF_ERROR(capture->CheckNotSpoiled());
  return capture->ToGraph(StrCat("the graph captured on stream ", name()));
}

absl::Status SimulatedStream::Replay(Graph& graph) {
  auto& captured = static_cast<SimulatedGraph&>(graph);
  const std::lock_guard lock(world_.mutex);
  if (capture_ != nullptr) {
    return capture_->Spoil(CaptureError::kUnsupported, Named("replaying a graph in a capture"));
  }
  for (const Touch& touch : captured.touches()) {
    const auto now = gpu_.TouchOf(touch.access, nullptr);
    if (!now.ok() || now->allocation != touch.allocation) {
      return FailedPrecondition(Named(StrCat("replaying ", captured.name(), ": it uses ",
                                             touch.what, ", which has been freed")));
    }
  }
  const Philox random = RandomOf(gpu_.config_.seed + clock_[index_], index_, 2);
  return WithContext(Counted(Enqueue(captured.name(), captured.touches(), captured.ToWork(random)),
                             gpu_.calls_.replays),
                     Named("replaying"));
}

}  // namespace dtnn::gpu
