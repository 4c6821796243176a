#include "models/training/step/updater.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "comm/local.h"
#include "tensor/dtype.h"
#include "tensor/errors.h"
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
  if (const std::optional<SparseSum> sparse = optimizer.sparse_sum()) {
    if (store.dtype() != DType::kFloat32) {
      return Unimplemented("optimizer ", optimizer.name(), " sums gradients of float32 only, not ",
                           Name(store.dtype()));
    }
    if (options.communicator == nullptr) {
      DTNN_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Communicator>> one, LocalGroup::Create(1));
      updater->alone_ = std::move(one[0]);
    }
    DTNN_ASSIGN_OR_RETURN(updater->sparse_, TopKAllReduce::Create(updater->sparse_communicator(),
                                                                  {.density = sparse->density,
                                                                   .tau = sparse->tau,
                                                                   .tau_prime = sparse->tau_prime},
                                                                  elements));
    DTNN_RETURN_IF_ERROR(updater->AddPart(0, elements));
  } else if (options.communicator == nullptr) {
    DTNN_RETURN_IF_ERROR(updater->AddPart(0, elements));
  } else if (options.choose_buckets && options.reducer.collectives == nullptr &&
             !options.reducer.sum) {
    DTNN_RETURN_IF_ERROR(updater->Cut(BucketChoice::kFirstBytes));
    updater->choice_.emplace(store.dtype(), elements, options.reducer.blocking,
                             options.reducer.wire);
  } else {
    DTNN_RETURN_IF_ERROR(updater->Cut(options.reducer.bucket_bytes));
  }
  if (options.clip_norm > 0 || options.watches_losses) {
    DTNN_ASSIGN_OR_RETURN(updater->gate_,
                          UpdateGate::Create(context, store.dtype(), options.clip_norm));
  }
  if (options.clip_norm > 0 || store.loss_scale() != nullptr) {
    DTNN_ASSIGN_OR_RETURN(updater->sum_of_squares_, CreateSumOfSquares(context, store.dtype()));
    DTNN_ASSIGN_OR_RETURN(updater->squares_,
                          Tensor::Allocate(context.device(), DType::kFloat64, Shape{1}));
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
  if (step_) DTNN_RETURN_IF_ERROR(update->SetStep(*step_));
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

absl::Status Updater::SetStep(const UpdateStep& step) {
  step_ = step;
  UpdateStep scaled = step;
  if (sparse_) scaled.gradient_scale = 1;  // the sum has it already
  for (const Part& part : parts_) DTNN_RETURN_IF_ERROR(part.update->SetStep(scaled));
  return options_.clip_norm > 0 ? gate_->SetGradientScale(scaled.gradient_scale) : absl::OkStatus();
}

absl::Status Updater::Finish(const std::function<absl::Status()>& before) {
  torn_ = false;
  const double backward_seconds = since_begin_ ? since_begin_->seconds() : 0;
  const absl::Status status = ExchangeAndFollow(before);
  if (choice_ && exchanges_) choice_->Add(ready_, backward_seconds, update_seconds_);
  if (torn_) store_->MarkChanged();
  if (status.ok()) torn_ = false;
  return status;
}

// What is left over keeps its scale in later steps, which may have another.
absl::Status Updater::SumSparsely() {
  const AddTime time(exposed_before_);
  const Span span({.activity = Activity::kWaitForGradients,
                   .bytes = gradients_.num_elements() * int64_t(SizeOf(store_->dtype())),
                   .first = 0,
                   .last = gradients_.num_elements()});
  return sparse_->Run(gradients_, store_->slots().back(), step_->gradient_scale, step_->step);
}

absl::StatusOr<std::optional<ExchangeState>> Updater::GatherExchange() {
  if (!sparse_) return std::nullopt;
  Communicator& communicator = sparse_communicator();
  ExchangeState state;
  DTNN_ASSIGN_OR_RETURN(state.values, sparse_->GatherState());
  const Tensor& mine = store_->slots().back();
  if (communicator.rank() > 0) {
    DTNN_RETURN_IF_ERROR(communicator.Send(mine, 0));
    return state;
  }
  for (int rank = 1; rank < communicator.size(); ++rank) {
    DTNN_ASSIGN_OR_RETURN(const Tensor theirs,
                          Tensor::Allocate(Device::Cpu(), mine.dtype(), mine.shape()));
    DTNN_RETURN_IF_ERROR(communicator.Receive(theirs, rank));
    state.leftovers.push_back(theirs);
  }
  return state;
}

absl::Status Updater::RestoreExchange(const std::optional<ExchangeState>& state) {
  if (!sparse_) return absl::OkStatus();
  return sparse_->SetState(state ? state->values : std::vector<double>());
}

absl::Status Updater::ExchangeAndFollow(const std::function<absl::Status()>& before) {
  const bool at_the_end = options_.whole_steps || sum_of_squares_ != nullptr || !exchanges_;
  if (exchanges_) {
    DTNN_RETURN_IF_ERROR(reducer_->Finish(
        [&](size_t bucket) { return at_the_end ? absl::OkStatus() : Follow(parts_[bucket]); }));
  }
  if (!at_the_end) return absl::OkStatus();
  if (before) DTNN_RETURN_IF_ERROR(before());
  if (sparse_) DTNN_RETURN_IF_ERROR(SumSparsely());
  if (sum_of_squares_ != nullptr) DTNN_RETURN_IF_ERROR(Judge());
  for (const Part& part : parts_) DTNN_RETURN_IF_ERROR(Follow(part));
  return absl::OkStatus();
}

// From the sum of all gradients: whether the update happens, and how long it may be.
absl::Status Updater::Judge() {
  DTNN_RETURN_IF_ERROR(sum_of_squares_->Queue(gradients_, squares_));
  LossScale* const scale = store_->loss_scale();
  if (scale != nullptr) {
    const Tensor closed = gate_ == nullptr ? Tensor() : gate_->gates().closed;
    DTNN_RETURN_IF_ERROR(scale->Judge(squares_, closed));
  }
  if (options_.clip_norm <= 0) return absl::OkStatus();
  DTNN_RETURN_IF_ERROR(gate_->Clip(squares_));
  return scale == nullptr ? absl::OkStatus() : scale->Shorten(gate_->gates().factor);
}

absl::StatusOr<std::optional<double>> Updater::MeasureGradientNorm() const {
  if (gradients_.empty() || !step_ || store_->loss_scale() != nullptr) return std::nullopt;
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<SumOfSquares> squares,
                        CreateSumOfSquares(*context_, store_->dtype()));
  DTNN_ASSIGN_OR_RETURN(const double sum, squares->Run(gradients_));
  return (sparse_ ? 1 : step_->gradient_scale) * std::sqrt(sum);  // a sparse sum is scaled
}

UpdateGates Updater::Gates() const {
  if (store_->loss_scale() != nullptr) return store_->loss_scale()->gates();
  return gate_ == nullptr ? UpdateGates() : gate_->gates();
}

absl::Status Updater::Follow(const Part& part) {
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
                          Slice(gradients_, part.begin, part.count), slots_, Gates());
}

}  // namespace dtnn
