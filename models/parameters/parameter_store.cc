#include "models/parameters/parameter_store.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/conv/filter_copies/filter_copies.h"
#include "kernels/transfers/transfers.h"
#include "models/parameters/weights_layout.h"
#include "tensor/errors.h"
#include "tensor/philox.h"
#include "tensor/rounding.h"

namespace dtnn {
namespace {

// The elements of an arena from `first` on, wherever in its buffer the arena itself begins.
Tensor Elements(const Tensor& arena, int64_t first, const Shape& shape) {
  const size_t begin = size_t(arena.raw_data() - arena.buffer()->data());
  return Tensor::View(arena.buffer(), begin + size_t(first) * SizeOf(arena.dtype()), arena.dtype(),
                      shape);
}

// In the order of the arenas.
enum class Kind : uint8_t { kTrainable, kStatistic, kFrozen };

Kind KindOf(const Node& node, const ParameterSpec& parameter) {
  if (node.frozen) return Kind::kFrozen;
  return parameter.trainable ? Kind::kTrainable : Kind::kStatistic;
}

void AppendRange(const ArenaRange& range, std::vector<ArenaRange>& ranges) {
  if (!ranges.empty() && ranges.back().end == range.begin) {
    ranges.back().end = range.end;
  } else {
    ranges.push_back(range);
  }
}

// A new arena of `size` zeros on the device.
absl::StatusOr<Tensor> ZeroArena(DeviceContext& context, DType dtype, int64_t size,
                                 std::string_view what) {
  DTNN_ASSIGN_OR_RETURN(
      Tensor arena,
      WithContext(Tensor::Allocate(context.device(), dtype, Shape{size}), what, " (", size, ")"));
  DTNN_RETURN_IF_ERROR(context.FillZero(arena));
  return arena;
}

// Draws a value for each logical index (of a filter: in, kh, kw, out), in the order of NHWC, so
// that both formats begin with the same network. Where a layer takes features of several orders at
// once there is no other order than the graph's.
absl::Status Initialize(const Graph& graph, size_t node, const ParameterSpec& spec,
                        const std::vector<std::optional<ImageExtents>>& origins,
                        const Tensor& value, const Philox& random) {
  constexpr WeightsLayout kOrder = WeightsLayout::kNHWC;
  const Node& layer = graph.nodes()[node];
  std::optional<ImageExtents> origin;
  if (!layer.inputs.empty()) {
    const bool image = layer.input_shapes[0].rank() == 3;
    origin =
        image ? ExtentsOf(layer.input_shapes[0], graph.format()) : origins[size_t(layer.inputs[0])];
  }
  const bool unknown = NeedsFeatureOrigin(spec, graph.format(), kOrder) && !origin;
  if (graph.format() == TensorFormat::kNHWC || unknown) {
    spec.initializer.Fill(value, random);
    return absl::OkStatus();
  }
  DTNN_ASSIGN_OR_RETURN(
      const Tensor drawn,
      Tensor::Allocate(Device::Cpu(), value.dtype(), ShapeInFile(spec, graph.format(), kOrder)));
  spec.initializer.Fill(drawn, random);
  ConvertParameter(spec, drawn, kOrder, value, graph.format(), origin.value_or(ImageExtents()));
  return absl::OkStatus();
}

}  // namespace

void ParameterStore::PlaceParameters(const Graph& graph) {
  const std::vector<Node>& nodes = graph.nodes();
  format_ = graph.format();
  places_.resize(nodes.size());
  const int64_t align = int64_t(Buffer::kAlignment / SizeOf(dtype_));
  for (const Kind kind : {Kind::kTrainable, Kind::kStatistic, Kind::kFrozen}) {
    for (size_t n = 0; n < nodes.size(); ++n) {
      places_[n].resize(nodes[n].parameters.size());
      for (size_t p = 0; p < nodes[n].parameters.size(); ++p) {
        const ParameterSpec& spec = nodes[n].parameters[p];
        if (KindOf(nodes[n], spec) != kind) continue;
        places_[n][p] = {size_, spec.shape, spec.layout == ParameterLayout::kFilter};
        const int64_t begin = size_;
        size_ += RoundUp(spec.shape.NumElements(), align);
        if (spec.trainable && spec.shape.rank() == 1) AppendRange({begin, size_}, vectors_);
      }
    }
    if (kind == Kind::kTrainable) trainable_size_ = size_;
    if (kind == Kind::kStatistic) unfrozen_size_ = size_;
  }
}

ParameterMemory ParameterStore::Measure(const Graph& graph, DType dtype) {
  ParameterStore store;
  store.dtype_ = dtype;
  store.PlaceParameters(graph);
  return {.values = size_t(store.size_) * SizeOf(dtype),
          .gradients = size_t(store.trainable_size_) * SizeOf(dtype)};
}

absl::StatusOr<std::unique_ptr<ParameterStore>> ParameterStore::Create(const Graph& graph,
                                                                       DeviceContext& context,
                                                                       DType dtype, uint64_t seed) {
  auto store = std::make_unique<ParameterStore>();
  store->dtype_ = dtype;
  store->PlaceParameters(graph);
  const std::vector<Node>& nodes = graph.nodes();
  const std::vector<std::optional<ImageExtents>> origins = FeatureOrigins(graph);
  // Initial values are drawn on the host: the same for every device.
  DTNN_ASSIGN_OR_RETURN(store->values_,
                        WithContext(Tensor::Zeros(dtype, Shape{store->size_}),
                                    "parameters of the model (", store->size_, ")"));
  for (size_t n = 0; n < nodes.size(); ++n) {
    for (size_t p = 0; p < nodes[n].parameters.size(); ++p) {
      const Philox random(seed,
                          StreamId(RandomPurpose::kInitialize, uint64_t(nodes[n].id) * 16 + p));
      DTNN_RETURN_IF_ERROR(Initialize(graph, n, nodes[n].parameters[p], origins,
                                      store->Value(int(n), int(p)), random));
    }
  }
  DTNN_ASSIGN_OR_RETURN(store->values_,
                        WithContext(ToDevice(context, store->values_), "parameters of the model (",
                                    store->size_, ") on ", context.device().ToString()));
  return store;
}

absl::Status ParameterStore::AllocateForTraining(DeviceContext& context, int slots,
                                                 std::optional<int> average_slot) {
  // Plans that were compiled before hold views of the gradients.
  if (gradients_.empty()) {
    DTNN_ASSIGN_OR_RETURN(
        gradients_, ZeroArena(context, dtype_, trainable_size_, "gradients of the parameters"));
  }
  if (context.math_mode() == MathMode::kFp16 && loss_scale_ == nullptr) {
    DTNN_ASSIGN_OR_RETURN(loss_scale_, LossScale::Create(context));
  }
  average_slot_ = average_slot;
  slots_.clear();
  for (int i = 0; i < slots; ++i) {
    DTNN_ASSIGN_OR_RETURN(Tensor slot,
                          ZeroArena(context, dtype_, trainable_size_, "the optimizer's state"));
    slots_.push_back(slot);
  }
  return absl::OkStatus();
}

absl::Status ParameterStore::KeepCopies(DeviceContext& context, DType dtype) {
  if (!copies_.empty()) {
    if (copies_.dtype() == dtype) return absl::OkStatus();
    return InvalidArgument("copies of the parameters in ", Name(dtype), ": they are kept in ",
                           Name(copies_.dtype()), "; compile all plans with one math mode");
  }
  channels_last_copies_ = CopiesFiltersChannelsLast(context.device(), format_);
  std::vector<FilterPlace> filters;
  for (const std::vector<Place>& node : places_) {
    for (const Place& place : node) {
      if (!channels_last_copies_ || !place.filter) continue;
      const Shape& shape = place.shape;  // (in, kh, kw, out) or (in, out)
      const int64_t in = shape[0], out = shape[shape.rank() - 1];
      filters.push_back({place.offset, in, shape.NumElements() / in / out, out});
    }
  }
  DTNN_ASSIGN_OR_RETURN(cast_,
                        CreateFilterCopies(context, dtype_, dtype, size_, std::move(filters)));
  DTNN_ASSIGN_OR_RETURN(copies_, ZeroArena(context, dtype, size_, "copies of the parameters"));
  return absl::OkStatus();
}

absl::Status ParameterStore::RenewCopies(bool anyway) {
  if (copies_.empty() || (!anyway && copied_version_ == version_)) return absl::OkStatus();
  DTNN_RETURN_IF_ERROR(cast_->Run(values_, copies_));
  copied_version_ = version_;
  return absl::OkStatus();
}

Tensor ParameterStore::Copy(int node, int index) const {
  const Tensor copy = Slice(copies_, node, index);
  if (!channels_last_copies_ || !places_[size_t(node)][size_t(index)].filter) return copy;
  std::vector<int64_t> extents(copy.shape().extents().begin(), copy.shape().extents().end());
  std::swap(extents.front(), extents.back());
  return copy.Reshaped(*Shape::Make(extents));
}

Tensor ParameterStore::Slice(const Tensor& arena, int node, int index) const {
  const Place& place = places_[size_t(node)][size_t(index)];
  return Elements(arena, place.offset, place.shape);
}

Tensor ParameterStore::Trainable(const Tensor& arena) const {
  return arena.empty() ? Tensor() : Elements(arena, 0, Shape{trainable_size_});
}

Tensor ParameterStore::statistics() const {
  if (unfrozen_size_ == trainable_size_) return Tensor();
  return Tensor::View(values_.buffer(), size_t(trainable_size_) * SizeOf(dtype_), dtype_,
                      Shape{unfrozen_size_ - trainable_size_});
}

Tensor ParameterStore::unfrozen() const {
  return Tensor::View(values_.buffer(), 0, dtype_, Shape{unfrozen_size_});
}

size_t ParameterStore::bytes() const {
  const int64_t training = gradients_.empty() ? 0 : trainable_size_ * int64_t(1 + slots_.size());
  const size_t copies = copies_.empty() ? 0 : size_t(size_) * SizeOf(copies_.dtype());
  return size_t(size_ + training) * SizeOf(dtype_) + copies;
}

}  // namespace dtnn
