#include "data/loading/loader.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "data/loading/byte_batches.h"
#include "data/loading/catch_exceptions.h"
#include "data/loading/sample_reader.h"
#include "data/loading/sampler.h"
#include "data/transforms/mixup.h"
#include "tensor/errors.h"
#include "tensor/threads/parallel_for.h"
#include "tensor/trace/observer.h"

namespace dtnn {

// The slots form a ring: step s of an epoch is in slot s mod slots. A step is read in pieces,
// handed out in order; the piece belongs to the thread that reads it, a whole step to the caller
// once `produced_` is beyond it and until `released_` is. `mutex_` guards the counters that say so,
// never the samples.
class Loader::Impl {
 public:
  Impl(std::shared_ptr<const Dataset> dataset, Split split, Sampler sampler,
       const LoaderOptions& options, std::shared_ptr<const ByteImagesSpec> bytes)
      : options_(options),
        reader_(std::move(dataset), split, options, std::move(bytes)),
        sampler_(std::move(sampler)) {}

  ~Impl() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    work_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  absl::Status Init();
  absl::Status Skip(int64_t samples);
  void StartEpoch(int64_t epoch, int64_t first_step);
  absl::StatusOr<const Batch*> Next();
  const LoaderOptions& options() const { return options_; }
  const Sampler& sampler() const { return sampler_; }
  double seconds_waited() const { return std::chrono::duration<double>(waited_).count(); }

 private:
  using Clock = std::chrono::steady_clock;

  struct Slot {
    Batch memory;                  // room for max_batch samples
    std::vector<int64_t> indices;  // of the samples
    Batch batch;                   // views of the memory
    int64_t step = -1;             // whose samples these are or will be
    int64_t begin = 0;             // place of the first one in the epoch's order
    int64_t pieces = 0, given = 0, done = 0;
    int64_t failed = 0;  // the first piece with an error, `pieces` when there is none
    absl::Status status;
  };
  struct Piece {
    int64_t step, number;
  };

  absl::Status AllocateSlots();
  void Pause(std::unique_lock<std::mutex>& lock);
  Batch Rows(const Batch& batch, int64_t begin, int64_t count) const;
  void Prepare(Slot& slot, int64_t step, int64_t pieces) const;
  absl::Status Read(Slot& slot, int64_t piece, const SampleReader::Scratch& scratch) const;
  absl::Status ReadAll(int64_t step);  // without threads

  void Work(const SampleReader::Scratch& scratch);
  bool MayOrder() const { return running_ && order_ == Order::kOld && sampler_.steps() > first_; }
  bool MayRead() const {
    return running_ && order_ == Order::kReady && issued_ < sampler_.steps() &&
           issued_ - released_ < int64_t(slots_.size());
  }
  Piece Take();
  void Finish(const Piece& piece, absl::Status status);
  Slot& SlotOf(int64_t step) { return slots_[size_t(step) % slots_.size()]; }

  const LoaderOptions options_;
  const SampleReader reader_;
  Sampler sampler_;  // its order changes only while nothing is read
  std::vector<Slot> slots_;
  std::vector<SampleReader::Scratch> scratch_;  // of every thread
  Clock::duration waited_ = {};

  std::mutex mutex_;
  std::condition_variable work_;  // threads wait for something to read, or the end
  std::condition_variable news_;  // the caller waits for a batch, or for the threads to pause
  bool stop_ = false;
  bool running_ = false;  // an epoch is under way and has not failed
  enum class Order : uint8_t { kOld, kChanging, kReady } order_ = Order::kOld;
  int busy_ = 0;                  // threads that read or order
  int idle_ = 0;                  // threads that wait for work
  Observer* observer_ = nullptr;  // of the thread that began the epoch
  int64_t epoch_ = -1;
  int64_t first_ = 0;     // step that the epoch began at
  int64_t issued_ = 0;    // steps of the epoch of which all pieces have been handed out,
  int64_t produced_ = 0;  // have been read,
  int64_t taken_ = 0;     // given to the caller,
  int64_t released_ = 0;  // and given back
  absl::Status status_;   // why the epoch failed
  std::vector<std::thread> threads_;
};

// Without memory, each slot keeps what it has.
absl::Status Loader::Impl::AllocateSlots() {
  slots_.resize(size_t(options_.prefetch) + 1);
  for (Slot& slot : slots_) {
    DTNN_ASSIGN_OR_RETURN(slot.memory, reader_.NewBatch(sampler_.max_batch()));
    slot.indices.resize(size_t(sampler_.max_batch()));
  }
  return absl::OkStatus();
}

absl::Status Loader::Impl::Init() {
  if (sampler_.steps() == 0) return absl::OkStatus();
  DTNN_RETURN_IF_ERROR(AllocateSlots());
  scratch_.resize(options_.prefetch == 0 ? 1 : size_t(options_.threads));
  for (SampleReader::Scratch& scratch : scratch_) {
    DTNN_ASSIGN_OR_RETURN(scratch, reader_.NewScratch());
  }
  if (options_.prefetch == 0) return absl::OkStatus();
  threads_.reserve(options_.threads);
  for (const SampleReader::Scratch& scratch : scratch_) {
    try {
      threads_.emplace_back([this, &scratch] { Work(scratch); });
    } catch (const std::system_error& error) {
      return ResourceExhausted("cannot start a thread to read ahead: ", error.what());
    }
  }
  return absl::OkStatus();
}

// Until no thread reads any more.
void Loader::Impl::Pause(std::unique_lock<std::mutex>& lock) {
  running_ = false;
  news_.wait(lock, [this] { return busy_ == 0; });
}

absl::Status Loader::Impl::Skip(int64_t samples) {
  std::unique_lock<std::mutex> lock(mutex_);
  Pause(lock);
  epoch_ = -1;
  const int64_t before = sampler_.SamplesBefore(0);
  DTNN_RETURN_IF_ERROR(sampler_.Skip(samples));
  // The last slot has the smallest batch.
  if (slots_.empty() || sampler_.max_batch() <= slots_.back().memory.x.shape()[0]) {
    return absl::OkStatus();
  }
  absl::Status status = AllocateSlots();
  if (!status.ok()) status.Update(sampler_.Skip(before));
  return status;
}

void Loader::Impl::StartEpoch(int64_t epoch, int64_t first_step) {
  std::unique_lock<std::mutex> lock(mutex_);
  Pause(lock);
  observer_ = CurrentObserver();
  epoch_ = epoch;
  first_ = std::clamp<int64_t>(first_step, 0, sampler_.steps());
  issued_ = produced_ = taken_ = released_ = first_;
  for (Slot& slot : slots_) slot.step = -1;
  order_ = Order::kOld;
  status_ = absl::OkStatus();
  running_ = true;
  lock.unlock();
  work_.notify_one();
}

absl::StatusOr<const Batch*> Loader::Impl::Next() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (epoch_ < 0) return absl::FailedPreconditionError("Loader: Next was called before StartEpoch");
  released_ = taken_;
  const bool wake = idle_ > 0 && MayRead();
  if (taken_ == sampler_.steps()) return nullptr;
  if (threads_.empty()) {
    const Span span({.activity = Activity::kWaitForData});
    const Clock::time_point start = Clock::now();
    if (status_.ok()) status_ = ReadAll(taken_);
    if (status_.ok()) ++produced_;
    waited_ += Clock::now() - start;
  } else if (produced_ == taken_ && status_.ok()) {
    // The threads must begin with what has become free before this one sleeps.
    if (wake) work_.notify_all();
    const Span span({.activity = Activity::kWaitForData});
    const Clock::time_point start = Clock::now();
    news_.wait(lock, [this] { return produced_ > taken_ || !status_.ok(); });
    waited_ += Clock::now() - start;
  }
  // Batches read before an error are good: the error takes the place of the one it spoilt.
  if (produced_ == taken_) return status_;
  const Batch* batch = &SlotOf(taken_++).batch;
  lock.unlock();
  if (wake) work_.notify_all();
  return batch;
}

// Rows [begin, begin + count) of a batch.
Batch Loader::Impl::Rows(const Batch& batch, int64_t begin, int64_t count) const {
  Batch rows = {.x = batch.x.Samples(begin, count, options_.format),
                .targets = batch.targets.Samples(begin, count, options_.format),
                .count = count,
                .bytes = batch.bytes};
  if (!batch.changes.empty()) {
    rows.changes = batch.changes.Samples(begin, count, options_.format);
  }
  if (options_.mixup > 0) {
    rows.mixed_targets = batch.mixed_targets.Samples(begin, count, options_.format);
  }
  return rows;
}

void Loader::Impl::Prepare(Slot& slot, int64_t step, int64_t pieces) const {
  const Sampler::Slice slice = sampler_.StepSlice(step);
  slot.batch = slice.count == 0 ? Batch() : Rows(slot.memory, 0, slice.count);
  slot.batch.global_count = slice.global_count;
  slot.step = step;
  slot.begin = slice.begin;
  slot.pieces = slot.failed = std::clamp<int64_t>(slice.count, 1, pieces);
  slot.given = slot.done = 0;
  slot.status = absl::OkStatus();
}

absl::Status Loader::Impl::Read(Slot& slot, int64_t piece,
                                const SampleReader::Scratch& scratch) const {
  if (slot.batch.count == 0) return absl::OkStatus();
  const int64_t begin = slot.batch.count * piece / slot.pieces;
  const int64_t count = slot.batch.count * (piece + 1) / slot.pieces - begin;
  const Span span({.activity = Activity::kReadData, .samples = count});
  return CatchExceptions([&] {
    return reader_.Read(sampler_, epoch_, {slot.begin + begin, count, slot.batch.global_count},
                        std::span(slot.indices).subspan(size_t(begin), size_t(count)), scratch,
                        Rows(slot.batch, begin, count));
  });
}

absl::Status Loader::Impl::ReadAll(int64_t step) {
  if (order_ == Order::kOld) sampler_.StartEpoch(epoch_);
  order_ = Order::kReady;
  Prepare(SlotOf(step), step, 1);
  return Read(SlotOf(step), 0, scratch_[0]);
}

// The next piece; MayRead() holds.
Loader::Impl::Piece Loader::Impl::Take() {
  // More pieces than threads, as some take longer than others.
  constexpr int64_t kPiecesPerThread = 4;
  const int64_t step = issued_;
  Slot& slot = SlotOf(step);
  if (slot.step != step) {
    Prepare(slot, step, options_.threads == 1 ? 1 : options_.threads * kPiecesPerThread);
  }
  const Piece piece = {step, slot.given++};
  if (slot.given == slot.pieces) ++issued_;
  return piece;
}

// All pieces of a step are read, also after one that failed, so that of several errors it is
// always that of the first sample which is reported.
void Loader::Impl::Finish(const Piece& piece, absl::Status status) {
  Slot& slot = SlotOf(piece.step);
  ++slot.done;
  if (!status.ok() && piece.number < slot.failed) {
    slot.failed = piece.number;
    slot.status = std::move(status);
  }
  if (!running_) return;  // StartEpoch waits to begin anew, or an earlier step has failed
  const int64_t before = produced_;
  while (running_) {
    const Slot& next = SlotOf(produced_);
    if (next.step != produced_ || next.done < next.pieces) break;
    if (!next.status.ok()) {
      status_ = next.status;
      running_ = false;
    } else {
      ++produced_;
    }
  }
  if (produced_ != before || !running_) news_.notify_one();
}

void Loader::Impl::Work(const SampleReader::Scratch& scratch) {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    while (!stop_ && !MayOrder() && !MayRead()) {
      ++idle_;
      work_.wait(lock);
      --idle_;
    }
    if (stop_) return;
    ++busy_;
    if (MayOrder()) {
      order_ = Order::kChanging;
      lock.unlock();
      sampler_.StartEpoch(epoch_);
      lock.lock();
      order_ = Order::kReady;
      if (idle_ > 0) work_.notify_all();
    } else {
      const Piece piece = Take();
      const ScopedObserver watching(observer_);
      lock.unlock();
      absl::Status status = Read(SlotOf(piece.step), piece.number, scratch);
      lock.lock();
      Finish(piece, std::move(status));
    }
    if (--busy_ == 0 && !running_) news_.notify_one();
  }
}

int LoaderThreads(const Dataset& dataset) { return dataset.decodes() ? NumThreads() : 1; }

absl::StatusOr<std::unique_ptr<Loader>> Loader::Create(std::shared_ptr<const Dataset> dataset,
                                                       Split split, std::vector<int64_t> indices,
                                                       const LoaderOptions& options) {
  if (!IsFloating(options.dtype)) {
    return InvalidArgument("batches are float32 or float64, not ", Name(options.dtype));
  }
  if (options.prefetch < 0) {
    return InvalidArgument("the number of batches read ahead must be 0 or more, not ",
                           options.prefetch);
  }
  constexpr int kMaxThreads = 1024;
  if (options.threads < 1 || options.threads > kMaxThreads) {
    return InvalidArgument("the number of threads that read ahead must be 1 to ", kMaxThreads,
                           ", not ", options.threads);
  }
  DTNN_RETURN_IF_ERROR(
      CheckTransforms(options.transforms, dataset->sample(), dataset->preprocessing()));
  DTNN_RETURN_IF_ERROR(CheckMixup(options.mixup));
  if (options.mixup > 0 && options.poisson) {
    return absl::InvalidArgumentError(
        "mixup: not with Poisson sampling, where a sample may not depend on the next one");
  }
  if (options.mixup > 0 && dataset->target_kind() != TargetKind::kClass) {
    return InvalidArgument("mixup: needs one class per sample, but ", dataset->name(), " has ",
                           Name(dataset->target_kind()));
  }
  if (dataset->target_kind() == TargetKind::kPixels) {
    DTNN_RETURN_IF_ERROR(CheckMovesLabels(options.transforms));
  }
  DTNN_RETURN_IF_ERROR(CheckNormalization(options.normalization, dataset->sample().channels));
  std::shared_ptr<const ByteImagesSpec> bytes;
  if (options.bytes) {
    const std::string reason = WhyNoBytes(*dataset, options.transforms, options.mixup);
    if (!reason.empty()) return InvalidArgument("batches of bytes: ", reason);
    DTNN_ASSIGN_OR_RETURN(bytes,
                          ValuesOfBytes(*dataset, options.transforms.size(), options.normalization,
                                        options.format, options.dtype));
  }
  const int64_t size = dataset->size(split);
  for (int64_t index : indices) {
    if (index < 0 || index >= size) {
      return InvalidArgument(dataset->name(), ": there is no sample ", index, " among the ", size,
                             " of the ", Name(split), " split");
    }
  }
  SampleGroups groups = dataset->groups(split);
  DTNN_ASSIGN_OR_RETURN(
      Sampler sampler,
      Sampler::Create(std::move(indices), {.batch = options.batch,
                                           .rank = options.rank,
                                           .ranks = options.ranks,
                                           .shuffle = options.shuffle,
                                           .seed = options.seed,
                                           .steps_per_epoch = options.steps_per_epoch,
                                           .groups = std::move(groups.begins),
                                           .groups_at_once = groups.at_once,
                                           .poisson = options.poisson}));
  auto impl = std::make_unique<Impl>(std::move(dataset), split, std::move(sampler), options,
                                     std::move(bytes));
  DTNN_RETURN_IF_ERROR(impl->Init());
  return std::unique_ptr<Loader>(new Loader(std::move(impl)));
}

Loader::Loader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Loader::~Loader() = default;

absl::Status Loader::Skip(int64_t samples) { return impl_->Skip(samples); }
void Loader::StartEpoch(int64_t epoch, int64_t first_step) { impl_->StartEpoch(epoch, first_step); }
absl::StatusOr<const Batch*> Loader::Next() { return impl_->Next(); }
const LoaderOptions& Loader::options() const { return impl_->options(); }
double Loader::seconds_waited() const { return impl_->seconds_waited(); }
int64_t Loader::steps() const { return impl_->sampler().steps(); }
int64_t Loader::samples() const { return impl_->sampler().samples(); }
int64_t Loader::SamplesBefore(int64_t steps) const { return impl_->sampler().SamplesBefore(steps); }
double Loader::probability() const { return impl_->sampler().probability(); }
int64_t Loader::max_batch() const { return impl_->sampler().max_batch(); }

}  // namespace dtnn
