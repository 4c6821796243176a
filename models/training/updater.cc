#include "models/training/updater.h"

#include <algorithm>
#include <cmath>

#include "tensor/dtype.h"
#include "tensor/status_macros.h"
#include "tensor/trace/observer.h"

namespace dtnn {
namespace {

Tensor Slice(const Tensor& arena, int64_t begin, int64_t count) {
  return arena.Samples(begin, count, TensorFormat::kNHWC);
}

// What of the ranges lies in [begin, end), counted from `begin`.
std::vector<ArenaRange> Inside(const std::vector<ArenaRange>& ranges, int64_t begin, int64_t end) {
  std::vector<ArenaRange> inside;
  for (const ArenaRange& range : ranges) {
    const ArenaRange cut = {std::max(range.begin, begin), std::min(range.end, end)};
    if (cut.begin < cut.end) inside.push_back({cut.begin - begin, cut.end - begin});
  }
  return inside;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Updater>> Updater::Create(ParameterStore& store,
                                                         DeviceContext& context,
                                                         const Optimizer& optimizer,
                                                         const UpdaterOptions& options) {
  std::unique_ptr<Updater> updater(new Updater(store, context, optimizer, options));
  const int64_t elements = store.gradients().num_elements();
  if (options.communicator == nullptr) {
    DTNN_RETURN_IF_ERROR(updater->AddPart(0, elements));
  } else if (options.choose_buckets && options.reducer.collectives == nullptr) {
    DTNN_RETURN_IF_ERROR(updater->Cut(BucketChoice::kFirstBytes));
    updater->choice_.emplace(store.dtype(), elements, options.reducer.blocking);
  } else {
    DTNN_RETURN_IF_ERROR(updater->Cut(options.reducer.bucket_bytes));
  }
  if (options.clip_norm > 0) {
    DTNN_ASSIGN_OR_RETURN(updater->sum_of_squares_, CreateSumOfSquares(context, store.dtype()));
  }
  return updater;
}

absl::Status Updater::Cut(int64_t bucket_bytes) {
  if (reducer_) exposed_before_ += reducer_->exposed_seconds();
  GradientReducerOptions reducer = options_.reducer;
  reducer.bucket_bytes = bucket_bytes;
  const int64_t elements = store_->gradients().num_elements();
  reducer_.reset();  // before the memory of the next one is allocated
  std::unique_ptr<ExchangeTwin> twin;
  if (reducer.collectives == nullptr) {
    DTNN_ASSIGN_OR_RETURN(
        twin, GradientReducer::TwinFor(*context_, store_->dtype(), elements, bucket_bytes));
  }
  reducer_.emplace(*options_.communicator, store_->dtype(), elements, reducer, std::move(twin));
  parts_.clear();
  for (const auto& [begin, end] : reducer_->buckets()) DTNN_RETURN_IF_ERROR(AddPart(begin, end));
  return absl::OkStatus();
}

absl::Status Updater::AddPart(int64_t begin, int64_t end) {
  DTNN_ASSIGN_OR_RETURN(
      std::unique_ptr<Update> update,
      optimizer_->Bind(*context_, store_->dtype(), Inside(store_->vectors(), begin, end)));
  parts_.push_back({.begin = begin, .count = end - begin, .update = std::move(update)});
  return absl::OkStatus();
}

absl::Status Updater::Begin(const Tensor& gradients, bool exchange) {
  gradients_ = gradients;
  exchanges_ = exchange && reducer_.has_value();
  if (!exchanges_) return absl::OkStatus();
  if (choice_ && choice_->complete()) {  // on all ranks
    DTNN_ASSIGN_OR_RETURN(const int64_t bytes, choice_->Choose(*options_.communicator));
    choice_.reset();
    DTNN_RETURN_IF_ERROR(Cut(bytes));
  }
  since_begin_.emplace();
  ready_.clear();
  update_seconds_ = 0;
  return reducer_->Begin(gradients);
}

void Updater::Ready(int64_t from) {
  if (!exchanges_) return;
  if (choice_) ready_.push_back({from, since_begin_->seconds()});
  reducer_->Ready(from);
}

absl::Status Updater::Finish(const UpdateStep& step, const std::function<absl::Status()>& before) {
  torn_ = false;
  const double backward_seconds = since_begin_ ? since_begin_->seconds() : 0;
  const absl::Status status = ExchangeAndFollow(step, before);
  if (choice_ && exchanges_) choice_->Add(ready_, backward_seconds, update_seconds_);
  if (torn_) store_->MarkChanged();
  if (status.ok()) torn_ = false;
  return status;
}

absl::Status Updater::ExchangeAndFollow(const UpdateStep& step,
                                        const std::function<absl::Status()>& before) {
  const bool at_the_end = options_.whole_steps || sum_of_squares_ != nullptr || !exchanges_;
  if (exchanges_) {
    DTNN_RETURN_IF_ERROR(reducer_->Finish([&](size_t bucket) {
      return at_the_end ? absl::OkStatus() : Follow(parts_[bucket], step);
    }));
  }
  if (!at_the_end) return absl::OkStatus();
  if (before) DTNN_RETURN_IF_ERROR(before());
  UpdateStep scaled = step;
  DTNN_ASSIGN_OR_RETURN(scaled.gradient_scale, ClippedScale(step.gradient_scale));
  for (const Part& part : parts_) DTNN_RETURN_IF_ERROR(Follow(part, scaled));
  return absl::OkStatus();
}

absl::Status Updater::Follow(const Part& part, const UpdateStep& step) {
  const AddTime time(update_seconds_);
  const Span span({.activity = Activity::kUpdate,
                   .bytes = part.count * int64_t(SizeOf(store_->dtype())),
                   .first = part.begin,
                   .last = part.begin + part.count});
  slots_.clear();
  for (const Tensor& slot : store_->slots()) {
    slots_.push_back(Slice(slot, part.begin, part.count));
  }
  torn_ = true;
  return part.update->Run(Slice(store_->values(), part.begin, part.count),
                          Slice(gradients_, part.begin, part.count), slots_, step);
}

absl::StatusOr<double> Updater::ClippedScale(double scale) {
  if (sum_of_squares_ == nullptr) return scale;
  DTNN_ASSIGN_OR_RETURN(const double squares, sum_of_squares_->Run(gradients_));
  const double norm = scale * std::sqrt(squares);
  gradient_norm_ = norm;
  return norm > options_.clip_norm ? scale * (options_.clip_norm / norm) : scale;
}

}  // namespace dtnn
