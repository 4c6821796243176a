#include "tensor/gpu/simulated/simulated_gpu.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "tensor/errors.h"
#include "tensor/gpu/launch_log.h"
#include "tensor/gpu/simulated/faults.h"

namespace dtnn::gpu {

absl::Status World::CheckThreadDoesNotCapture(std::string_view what) {
  absl::Status status;
  for (const std::shared_ptr<Capture>& capture : captures) {
    if (!capture->OfThisThread()) continue;
    status.Update(capture->Spoil(CaptureError::kUnsupported,
                                 StrCat(what, " is not permitted to a thread that captures")));
  }
  return status;
}

void World::HostWaitedFor(const Clock& clock) {
  host.Merge(clock);
  history.ForgetBefore(host);
  for (SimulatedGpu* const gpu : gpus) gpu->GiveBackToHost();
}

SimulatedGpu::SimulatedGpu(int device, const SimulatedConfig& config, std::shared_ptr<World> world)
    : Gpu(StrCat("simulated:", device), config.properties),
      config_(config),
      world_(std::move(world)) {
  const std::lock_guard lock(world_->mutex);
  world_->gpus.insert(this);
}

SimulatedGpu::~SimulatedGpu() {
  const std::lock_guard lock(world_->mutex);
  world_->gpus.erase(this);
  for (const auto& [base, block] : blocks_) UnregisterMapping(block.mapping.get());
  delete error_.load(std::memory_order_acquire);
}

absl::StatusOr<MemoryInfo> SimulatedGpu::Memory() {
  const std::lock_guard lock(world_->mutex);
  const size_t total = config_.properties.memory_bytes;
  return MemoryInfo{total - std::min(total, used_bytes_), total};
}

CallCounts SimulatedGpu::calls() const {
  const std::lock_guard lock(world_->mutex);
  return calls_;
}

CallCounts CallsOf(const Gpu& gpu) { return static_cast<const SimulatedGpu&>(gpu).calls(); }

absl::StatusOr<std::byte*> SimulatedGpu::DoAllocate(size_t bytes, MemoryKind kind,
                                                    std::string_view what) {
  const std::lock_guard lock(world_->mutex);
  DTNN_RETURN_IF_ERROR(world_->CheckThreadDoesNotCapture("allocating"));
  DTNN_RETURN_IF_ERROR(CheckError());
  const bool on_device = kind == MemoryKind::kDevice;
  // Where nothing runs nothing is written: memory is addresses alone, as many as one likes.
  const LaunchLog* const log = LaunchLog::Current();
  const bool untouched = log != nullptr && log->runs_nothing();
  const size_t total = config_.properties.memory_bytes;
  if (on_device && !untouched && bytes > total - std::min(total, used_bytes_)) {
    return absl::ResourceExhaustedError("there is no more device memory");
  }
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Mapping> mapping, Mapping::Create(bytes));
  std::byte* const base = mapping->host();
  RegisterMapping(mapping.get(), StrCat(Allocation{base, bytes, kind, std::string(what)}.ToString(),
                                        " of ", name()));
  if (on_device) {
    if (!untouched) std::memset(base, 0xff, bytes);  // NaN in every type
    mapping->SetHostAccess(HostAccess::kNone);
    used_bytes_ += bytes;
  }
  blocks_[base] = {std::move(mapping), kind, {}};
  return base;
}

absl::Status SimulatedGpu::DoFree(const Allocation& allocation) {
  DTNN_RETURN_IF_ERROR(Synchronize());
  const std::lock_guard lock(world_->mutex);
  const auto found = blocks_.find(allocation.base);
  UnregisterMapping(found->second.mapping.get());
  blocks_.erase(found);
  world_->history.Forget(allocation.number);
  if (allocation.kind == MemoryKind::kDevice) used_bytes_ -= allocation.bytes;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Stream>> SimulatedGpu::CreateStream(std::string_view name) {
  const std::lock_guard lock(world_->mutex);
  DTNN_RETURN_IF_ERROR(CheckError());
  auto stream = std::make_unique<SimulatedStream>(*this, name, world_->streams++);
  streams_.insert(stream.get());
  return stream;
}

absl::StatusOr<std::unique_ptr<Event>> SimulatedGpu::CreateEvent(Timing timing) {
  return std::make_unique<SimulatedEvent>(*this, timing);
}

absl::Status SimulatedGpu::Synchronize() {
  // What each stream has been given by now.
  struct Given {
    std::shared_ptr<WorkQueue> queue;
    uint32_t pushed;
    Clock clock;
  };
  std::vector<Given> streams;
  {
    const std::lock_guard lock(world_->mutex);
    DTNN_RETURN_IF_ERROR(world_->CheckThreadDoesNotCapture("synchronising"));
    ++calls_.waits_for_all;
    for (const SimulatedStream* const stream : streams_) {
      streams.push_back({stream->queue_, stream->queue_->pushed(), stream->clock_});
    }
  }
  for (const Given& stream : streams) stream.queue->WaitFor(stream.pushed);
  const std::lock_guard lock(world_->mutex);
  for (const Given& stream : streams) world_->HostWaitedFor(stream.clock);
  return CheckError();
}

absl::Status SimulatedGpu::CheckError() const {
  const std::string* const error = error_.load(std::memory_order_acquire);
  if (error == nullptr) return absl::OkStatus();
  return absl::InternalError(StrCat(name(), " has failed: ", *error));
}

void SimulatedGpu::Fail(std::string error) {
  auto told = std::make_unique<const std::string>(std::move(error));
  const std::string* none = nullptr;
  if (error_.compare_exchange_strong(none, told.get(), std::memory_order_release)) told.release();
}

absl::StatusOr<Touch> SimulatedGpu::TouchOf(const Access& access, std::byte** view) {
  DTNN_ASSIGN_OR_RETURN(const Allocation allocation,
                        allocations().Find(access.begin, access.extent()));
  if (view != nullptr) {
    *view = access.begin + blocks_.at(allocation.base).mapping->Distance(access.mode);
  }
  return Touch{allocation.number, allocation.ToString(), access};
}

void SimulatedGpu::TakeFromHost(const std::shared_ptr<const Operation>& operation,
                                std::span<const Touch> touches) {
  for (const Touch& touch : touches) {
    auto& [base, block] = *std::prev(blocks_.upper_bound(touch.access.begin));
    if (block.kind != MemoryKind::kPinned) continue;
    block.pending.push_back({operation, touch.access});
    Protect(block);
  }
}

void SimulatedGpu::GiveBackToHost() {
  for (auto& [base, block] : blocks_) {
    const size_t returned = std::erase_if(block.pending, [&](const Pending& pending) {
      return pending.operation->Before(world_->host);
    });
    if (returned > 0) Protect(block);
  }
}

void SimulatedGpu::Protect(const Block& block) {
  const auto protect = [&](AccessMode mode, HostAccess access) {
    for (const Pending& pending : block.pending) {
      if (pending.access.mode != mode) continue;
      for (size_t row = 0; row < pending.access.rows; ++row) {
        const size_t begin =
            size_t(pending.access.begin - block.mapping->host()) + row * pending.access.pitch;
        block.mapping->SetHostAccess(begin, begin + pending.access.row_bytes, access);
      }
    }
  };
  block.mapping->SetHostAccess(HostAccess::kWrite);
  protect(AccessMode::kRead, HostAccess::kRead);
  protect(AccessMode::kWrite, HostAccess::kNone);
  SetReason(block.mapping.get(),
            block.pending.empty()
                ? ""
                : StrCat("the host has not waited for ", block.pending.front().operation->name));
}

absl::StatusOr<std::shared_ptr<Occurrence>> SimulatedEvent::Last(std::string_view what) const {
  DTNN_RETURN_IF_ERROR(gpu_.world_->CheckThreadDoesNotCapture(what));
  if (last_ == nullptr) {
    return FailedPrecondition(gpu_.name(), ": ", what, ": the event was never recorded");
  }
  if (last_->capture == nullptr) return last_;
  const std::string text = StrCat(gpu_.name(), ": ", what, ": the event is part of a capture");
  if (last_->capture->ended()) return ToStatus(CaptureError::kCapturedEvent, text);
  return last_->capture->Spoil(CaptureError::kCapturedEvent, text);
}

absl::Status SimulatedEvent::Synchronize() {
  std::shared_ptr<Occurrence> occurrence;
  {
    const std::lock_guard lock(gpu_.world_->mutex);
    DTNN_ASSIGN_OR_RETURN(occurrence, Last("waiting for an event"));
    ++gpu_.calls_.waits_for_events;
  }
  occurrence->AwaitDone();
  const std::lock_guard lock(gpu_.world_->mutex);
  gpu_.world_->HostWaitedFor(occurrence->clock);
  return gpu_.CheckError();
}

absl::StatusOr<bool> SimulatedEvent::Query() {
  const std::lock_guard lock(gpu_.world_->mutex);
  DTNN_ASSIGN_OR_RETURN(const std::shared_ptr<Occurrence> occurrence, Last("querying an event"));
  DTNN_RETURN_IF_ERROR(gpu_.CheckError());
  if (!occurrence->IsDone()) return false;
  gpu_.world_->HostWaitedFor(occurrence->clock);
  return true;
}

absl::StatusOr<double> SimulatedEvent::SecondsSince(const Event& start) {
  const auto& before = static_cast<const SimulatedEvent&>(start);
  const std::lock_guard lock(gpu_.world_->mutex);
  const char* const what = "the time between two events";
  DTNN_ASSIGN_OR_RETURN(const std::shared_ptr<Occurrence> first, before.Last(what));
  DTNN_ASSIGN_OR_RETURN(const std::shared_ptr<Occurrence> last, Last(what));
  if (timing_ == Timing::kOff || before.timing_ == Timing::kOff) {
    return FailedPrecondition(gpu_.name(), ": ", what, ": one was made without timing");
  }
  if (!first->IsDone() || !last->IsDone()) {
    return FailedPrecondition(gpu_.name(), ": ", what, ": one is not done yet; wait for it");
  }
  return std::chrono::duration<double>(last->time - first->time).count();
}

}  // namespace dtnn::gpu
