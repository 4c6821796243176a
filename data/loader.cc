#include "data/loader.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "data/sampler.h"
#include "tensor/shape.h"
#include "tensor/status_macros.h"

namespace dtnn {

// The slots form a ring: step s of an epoch is in slot s mod slots. The background thread owns the
// slot of the step it reads, the caller those of the steps before; `mutex_` guards the counters
// that say so, never the contents.
class Loader::Impl {
 public:
  Impl(std::shared_ptr<const Dataset> dataset, Part part, Sampler sampler,
       const LoaderOptions& options)
      : dataset_(std::move(dataset)),
        part_(part),
        options_(options),
        sampler_(std::move(sampler)) {}

  ~Impl() {
    if (!thread_.joinable()) return;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    work_.notify_one();
    thread_.join();
  }

  absl::Status Init();
  void StartEpoch(int64_t epoch, int64_t first_step);
  absl::StatusOr<const Batch*> Next();
  const Sampler& sampler() const { return sampler_; }
  const LoaderOptions& options() const { return options_; }

 private:
  struct Slot {
    Tensor x, targets;  // room for max_batch samples
    Batch batch;        // views of them
  };

  absl::Status Fill(int64_t epoch, int64_t step, bool first);
  void ReadAhead();
  bool MayRead() const {
    return running_ && produced_ < sampler_.steps() &&
           produced_ - released_ < int64_t(slots_.size());
  }

  const std::shared_ptr<const Dataset> dataset_;
  const Part part_;
  const LoaderOptions options_;
  Sampler sampler_;  // its order belongs to whoever calls Fill
  std::vector<Slot> slots_;
  std::vector<int64_t> indices_;  // of the batch being filled

  std::mutex mutex_;
  std::condition_variable work_;  // the background thread waits for a free slot, an epoch, the end
  std::condition_variable news_;  // the caller waits for a batch or for the thread to pause
  bool stop_ = false;
  bool running_ = false;  // an epoch is under way and has not failed
  bool reading_ = false;  // the thread is inside Fill
  int64_t epoch_ = -1;
  int64_t first_ = 0;     // step that the epoch began at
  int64_t produced_ = 0;  // steps of the epoch that have been read,
  int64_t taken_ = 0;     // handed to the caller,
  int64_t released_ = 0;  // and given back
  absl::Status status_;   // why the epoch failed
  std::thread thread_;
};

absl::Status Loader::Impl::Init() {
  if (sampler_.steps() == 0) return absl::OkStatus();
  const int64_t rows = sampler_.max_batch();
  const Shape sample = SampleShape(dataset_->sample(), options_.format);
  std::vector<int64_t> extents = {rows};
  extents.insert(extents.end(), sample.extents().begin(), sample.extents().end());
  DTNN_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(extents));
  for (int i = 0; i < options_.prefetch + 1; ++i) {
    Slot slot;
    absl::StatusOr<Tensor> x = Tensor::Allocate(Device::Cpu(), options_.dtype, shape);
    if (!x.ok()) {
      return absl::Status(x.status().code(), absl::StrCat("batches of shape ", shape.ToString(),
                                                          ": ", std::string(x.status().message()),
                                                          "; a smaller batch needs less"));
    }
    slot.x = *std::move(x);
    DTNN_ASSIGN_OR_RETURN(slot.targets,
                          Tensor::Allocate(Device::Cpu(), TargetDType(*dataset_, options_.dtype),
                                           TargetShape(*dataset_, rows)));
    slots_.push_back(std::move(slot));
  }
  indices_.resize(rows);
  if (options_.prefetch == 0) return absl::OkStatus();
  try {
    thread_ = std::thread([this] { ReadAhead(); });
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no thread could be started to read ahead: ", error.what()));
  }
  return absl::OkStatus();
}

void Loader::Impl::StartEpoch(int64_t epoch, int64_t first_step) {
  std::unique_lock<std::mutex> lock(mutex_);
  running_ = false;
  news_.wait(lock, [this] { return !reading_; });
  epoch_ = epoch;
  first_ = produced_ = taken_ = released_ = std::clamp<int64_t>(first_step, 0, sampler_.steps());
  status_ = absl::OkStatus();
  running_ = true;
  lock.unlock();
  work_.notify_one();
}

absl::StatusOr<const Batch*> Loader::Impl::Next() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (epoch_ < 0) return absl::FailedPreconditionError("Loader: Next was called before StartEpoch");
  const bool was_full = produced_ - released_ == int64_t(slots_.size());
  released_ = taken_;
  if (taken_ == sampler_.steps()) return nullptr;
  if (thread_.joinable()) {
    // With nothing ready there are free slots: the thread is at work and needs no waking.
    news_.wait(lock, [this] { return produced_ > taken_ || !status_.ok(); });
  } else if (status_.ok()) {
    status_ = Fill(epoch_, taken_, taken_ == first_);
    if (status_.ok()) ++produced_;
  }
  // Batches read before an error are good: the error takes the place of the one it spoilt.
  if (produced_ == taken_) return status_;
  const Batch* batch = &slots_[taken_++ % slots_.size()].batch;
  lock.unlock();
  if (was_full) work_.notify_one();
  return batch;
}

absl::Status Loader::Impl::Fill(int64_t epoch, int64_t step, bool first) {
  if (first) sampler_.StartEpoch(epoch);
  const Sampler::Slice slice = sampler_.StepSlice(step);
  const std::span<int64_t> indices = std::span(indices_).first(slice.count);
  sampler_.Indices(slice, indices);
  Slot& slot = slots_[step % slots_.size()];
  slot.batch.x = slot.x.Samples(0, slice.count, options_.format);
  slot.batch.targets = slot.targets.Samples(0, slice.count, options_.format);
  slot.batch.count = slice.count;
  slot.batch.global_count = slice.global_count;
  return dataset_->Read(part_, indices, options_.format, slot.batch.x, slot.batch.targets);
}

void Loader::Impl::ReadAhead() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return stop_ || MayRead(); });
    if (stop_) return;
    const int64_t epoch = epoch_, step = produced_, first = first_;
    reading_ = true;
    lock.unlock();
    absl::Status status = Fill(epoch, step, step == first);
    lock.lock();
    reading_ = false;
    if (running_) {  // else StartEpoch waits to begin anew
      if (status.ok()) {
        ++produced_;
      } else {
        status_ = std::move(status);
        running_ = false;
      }
    }
    news_.notify_one();
  }
}

absl::StatusOr<std::unique_ptr<Loader>> Loader::Create(std::shared_ptr<const Dataset> dataset,
                                                       Part part, std::vector<int64_t> indices,
                                                       const LoaderOptions& options) {
  if (!IsFloating(options.dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("batches are float32 or float64, not ", std::string(Name(options.dtype))));
  }
  if (options.prefetch < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the number of batches read ahead must be 0 or more, not ", options.prefetch));
  }
  const int64_t size = dataset->size(part);
  for (int64_t index : indices) {
    if (index < 0 || index >= size) {
      return absl::InvalidArgumentError(
          absl::StrCat(std::string(dataset->name()), ": there is no sample ", index, " among the ",
                       size, " of the ", std::string(Name(part)), " part"));
    }
  }
  SampleGroups groups = dataset->groups(part);
  DTNN_ASSIGN_OR_RETURN(
      Sampler sampler,
      Sampler::Create(std::move(indices), {.batch = options.batch,
                                           .rank = options.rank,
                                           .ranks = options.ranks,
                                           .shuffle = options.shuffle,
                                           .seed = options.seed,
                                           .steps_per_epoch = options.steps_per_epoch,
                                           .groups = std::move(groups.begins),
                                           .groups_at_once = groups.at_once}));
  auto impl = std::make_unique<Impl>(std::move(dataset), part, std::move(sampler), options);
  DTNN_RETURN_IF_ERROR(impl->Init());
  return std::unique_ptr<Loader>(new Loader(std::move(impl)));
}

Loader::Loader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Loader::~Loader() = default;

void Loader::StartEpoch(int64_t epoch, int64_t first_step) { impl_->StartEpoch(epoch, first_step); }
absl::StatusOr<const Batch*> Loader::Next() { return impl_->Next(); }
const LoaderOptions& Loader::options() const { return impl_->options(); }
int64_t Loader::steps() const { return impl_->sampler().steps(); }
int64_t Loader::samples() const { return impl_->sampler().samples(); }
int64_t Loader::SamplesBefore(int64_t steps) const {
  return steps < impl_->sampler().steps() ? steps * impl_->options().batch * impl_->options().ranks
                                          : samples();
}
int64_t Loader::max_batch() const { return impl_->sampler().max_batch(); }

}  // namespace dtnn
