#include "layers/conv2d.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "kernels/cast/cast.h"
#include "kernels/conv/filter_copies/filter_copies.h"
#include "kernels/conv/filter_copies/folded_filter.h"
#include "kernels/device/device_traits.h"
#include "kernels/transfers/transfers.h"
#include "layers/base/conv_variants.h"
#include "layers/base/geometry_cell.h"
#include "layers/base/input_check.h"
#include "layers/base/saturating.h"
#include "tensor/rounding.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr std::pair<ConvGrouping, std::string_view> kGroupings[] = {
    {ConvGrouping::kStandard, "standard"},
    {ConvGrouping::kDepthwise, "depthwise"},
    {ConvGrouping::kPointwise, "pointwise"},
};

std::string Name(ConvGrouping grouping) {
  for (const auto& [value, name] : kGroupings) {
    if (value == grouping) return std::string(name);
  }
  return "unknown";
}

std::optional<ConvGrouping> ParseConvGrouping(std::string_view name) {
  for (const auto& [value, word] : kGroupings) {
    if (word == name) return value;
  }
  return std::nullopt;
}

// What a bound layer will run.
Conv2dUse UseOf(const BindContext& context) {
  using enum conv::Direction;
  const bool backward = context.training && context.backward;
  Conv2dUse use = {.directions = conv::Only(kForward), .keeps_filter = !context.training};
  use.directions[kBackwardData] = backward && context.input_gradient;
  use.directions[kBackwardFilter] = backward && !context.frozen;
  // The copies of a store of parameters.
  use.channels_last_filter =
      IsHalf(context.dtype) && CopiesFiltersChannelsLast(context.device->device(), context.format);
  return use;
}

// For the algorithm named, per direction: why it does not compute the direction; empty where it
// does, or where nobody has named any.
using Refusals = conv::PerDirection<std::string>;

Refusals RefusalsOf(std::string_view variant, const Conv2dSpec& spec) {
  Refusals refusals;
  if (variant == "auto") return refusals;
  for (const conv::Direction direction : conv::kDirections) {
    const std::string_view refusal = Conv2dRefusal(variant, spec, direction);
    if (!refusal.empty()) refusals[direction] = StrCat(variant, ": ", refusal);
  }
  return refusals;
}

// The layer after a convolution as a scale and a shift of the sums, computed anew when a parameter
// of either changes. The scale is applied by the write-back, or by a copy of the filter that it is
// multiplied into (DeviceTraits).
class FoldedLayer {
 public:
  struct Operands {
    ParameterView filter;
    EpilogueOperands epilogue;
  };

  static absl::StatusOr<FoldedLayer> Create(DeviceContext& device, const Layer& layer,
                                            const Conv2dSpec& spec, const Conv2dUse& use) {
    FoldedLayer folded(device, layer, spec, use);
    if (spec.epilogue.scale) return folded;
    const DType wide = WideOf(spec.dtype);
    DTNN_ASSIGN_OR_RETURN(folded.folding_, CreateFoldedFilter(device, spec, use));
    DTNN_ASSIGN_OR_RETURN(folded.host_scale_, Tensor::Zeros(wide, {spec.filters}));
    DTNN_ASSIGN_OR_RETURN(folded.host_shift_, Tensor::Zeros(wide, {spec.filters}));
    if (IsHalf(spec.dtype)) {
      DTNN_ASSIGN_OR_RETURN(folded.round_, CreateCast(device, wide, spec.dtype));
    }
    return folded;
  }

  size_t kept_bytes() const {
    const size_t filter = size_t(filter_shape_.NumElements()) * SizeOf(dtype_);
    return folding_ == nullptr ? 2 * VectorBytes() : 3 * VectorBytes() + filter;
  }
  // In the memory from `offset` on.
  void Keep(const std::shared_ptr<Buffer>& memory, size_t offset) {
    const Shape vector = {filters_};
    scale_ = Tensor::View(memory, offset, WideOf(dtype_), vector);
    shift_ = Tensor::View(memory, offset + VectorBytes(), WideOf(dtype_), vector);
    if (folding_ == nullptr) return;
    used_shift_ = Tensor::View(memory, offset + 2 * VectorBytes(), dtype_, vector);
    filter_ = Tensor::View(memory, offset + 3 * VectorBytes(), dtype_, filter_shape_);
  }

  // `filter` and `bias` of the convolution, the latter with an empty tensor where it has none;
  // `parameters` of the layer.
  absl::StatusOr<Operands> OperandsFor(const ParameterView& filter, const ParameterView& bias,
                                       std::span<const ParameterView> parameters) {
    std::vector<uint64_t>& versions = new_versions_;
    versions.clear();
    if (folding_ != nullptr) versions.push_back(filter.version);
    if (!bias.tensor.empty()) versions.push_back(bias.version);
    for (const ParameterView& parameter : parameters) versions.push_back(parameter.version);
    const bool known = std::ranges::find(versions, uint64_t{0}) == versions.end();
    if (!known || versions.empty() || versions != versions_) {
      DTNN_RETURN_IF_ERROR(folding_ == nullptr
                               ? layer_->ScaleAndShift(parameters, bias.tensor, scale_, shift_)
                               : Fold(filter.tensor, bias.tensor, parameters));
      std::swap(versions_, versions);
    }
    if (folding_ == nullptr) return Operands{filter, {.bias = shift_, .scale = scale_}};
    return Operands{{filter_, filter.version}, {.bias = round_ == nullptr ? shift_ : used_shift_}};
  }

 private:
  FoldedLayer(DeviceContext& device, const Layer& layer, const Conv2dSpec& spec,
              const Conv2dUse& use)
      : device_(&device),
        layer_(&layer),
        dtype_(spec.dtype),
        filters_(spec.filters),
        filter_shape_(use.FilterShape(spec)) {}

  // On a GPU. Scale and shift are computed on the host: few numbers, once after an update.
  absl::Status Fold(const Tensor& filter, const Tensor& bias,
                    std::span<const ParameterView> parameters) {
    Tensor host_bias;
    if (!bias.empty()) {
      DTNN_ASSIGN_OR_RETURN(host_bias, ToHost(*device_, bias));
    }
    std::vector<ParameterView> host(parameters.begin(), parameters.end());
    for (ParameterView& parameter : host) {
      DTNN_ASSIGN_OR_RETURN(parameter.tensor, ToHost(*device_, parameter.tensor));
    }
    DTNN_RETURN_IF_ERROR(layer_->ScaleAndShift(host, host_bias, host_scale_, host_shift_));
    DTNN_RETURN_IF_ERROR(device_->Copy(host_scale_, scale_));
    DTNN_RETURN_IF_ERROR(device_->Copy(host_shift_, shift_));
    if (round_ != nullptr) DTNN_RETURN_IF_ERROR(round_->Run(shift_, used_shift_));
    return folding_->Run(filter, scale_, filter_);
  }
  size_t VectorBytes() const {
    return RoundUp(size_t(filters_) * SizeOf(WideOf(dtype_)), Buffer::kAlignment);
  }

  DeviceContext* device_;
  const Layer* layer_;
  DType dtype_;
  int64_t filters_;
  Shape filter_shape_;
  std::unique_ptr<FoldedFilter> folding_;  // null: the write-back applies the scale
  std::unique_ptr<Cast> round_;            // the shift, once instead of in every call
  std::vector<uint64_t> versions_, new_versions_;
  Tensor host_scale_, host_shift_;
  Tensor scale_, shift_, used_shift_, filter_;
};

class Conv2dOp : public LayerOp {
 public:
  Conv2dOp(DeviceContext& device, std::unique_ptr<Conv2d> conv, const Conv2dSpec& spec,
           const Conv2dUse& use, Refusals refusals, bool bias, const BindContext& context,
           std::optional<FoldedLayer> folded)
      : device_(&device),
        conv_(std::move(conv)),
        spec_(spec),
        use_(use),
        refusals_(std::move(refusals)),
        filter_(spec.FilterShape()),
        used_filter_(use.FilterShape(spec)),
        bias_(bias),
        bias_gradient_(bias && context.bias_gradient),
        frozen_(context.frozen),
        adds_(context.fuse_addition),
        in_host_memory_(TraitsOf(context.device->device()).in_host_memory),
        folded_(std::move(folded)) {}

  LayerOpTraits traits() const override {
    return {.backward_reads_input = !frozen_,
            .forward_over_addend = adds_ && in_host_memory_,
            .workspace_bytes = conv_->workspace_bytes(),
            .kept_bytes = FoldedOffset() + (folded_.has_value() ? folded_->kept_bytes() : 0)};
  }

  absl::Status Keep(std::shared_ptr<Buffer> memory) override {
    if (folded_.has_value()) folded_->Keep(memory, FoldedOffset());
    return conv_->Keep(std::move(memory));
  }

  std::string Algorithms() const override {
    std::string text;
    for (const conv::Direction direction : conv::kDirections) {
      if (!use_.directions[direction]) continue;
      StrAppend(&text, text.empty() ? "" : ", ", conv::Name(direction), " ",
                conv_->variant(direction));
      const std::string& refusal = refusals_[direction];
      if (!refusal.empty()) StrAppend(&text, " (", refusal, ")");
    }
    return text;
  }

  std::vector<std::string> Alternatives() const override {
    std::vector<std::string> lines;
    const std::vector<std::string_view> names = Conv2dVariantNames();
    for (const conv::Direction direction : conv::kDirections) {
      if (!use_.directions[direction]) continue;
      const std::string_view chosen = conv_->variant(direction);
      if (std::ranges::count(names, chosen) == 0) continue;  // a GPU's
      std::string able, unable;
      for (const std::string_view name : names) {
        const std::string_view refusal = Conv2dRefusal(name, spec_, direction);
        if (!refusal.empty()) {
          StrAppend(&unable, unable.empty() ? "" : "; ", name, " ", refusal);
        } else if (name != chosen) {
          StrAppend(&able, able.empty() ? "" : ", ", WithNeeds(name, direction));
        }
      }
      // i2c and gemm compute everything, so one of them is always left.
      lines.push_back(StrCat(conv::Name(direction), ": ", WithNeeds(chosen, direction), ", not ",
                             able, unable.empty() ? "" : "; refused: ", unable));
    }
    return lines;
  }

  absl::Status Forward(const ForwardArgs& args) override {
    const ParameterView bias = bias_ ? args.parameters[1] : ParameterView();
    FoldedLayer::Operands operands;
    if (folded_.has_value()) {
      const ParameterView& weights = args.parameters[0];
      DTNN_ASSIGN_OR_RETURN(
          operands, folded_->OperandsFor({weights.tensor.Reshaped(filter_), weights.version}, bias,
                                         args.parameters.subspan(bias_ ? 2 : 1)));
    } else {
      operands = {Filter(args.parameters), {.bias = bias.tensor}};
    }
    if (adds_) operands.epilogue.addend = args.inputs.back();
    return conv_->Forward(args.inputs[0], operands.filter, args.output, operands.epilogue,
                          args.workspace);
  }

  absl::Status Backward(const BackwardArgs& args) override {
    if (!frozen_) {
      DTNN_RETURN_IF_ERROR(conv_->BackwardFilter(
          args.inputs[0], args.dy, args.gradients[0].Reshaped(filter_),
          bias_gradient_ ? args.gradients[1] : Tensor(), /*accumulate=*/false, args.workspace));
    }
    if (args.dx[0].empty()) return absl::OkStatus();
    return conv_->BackwardData(args.dy, Filter(args.parameters), args.dx[0], args.accumulate[0],
                               args.workspace);
  }

 private:
  // "winograd (3.1 MB, rounds 2x)": a variant that computes a direction, what it would take beside
  // its operands, and how much more it rounds than a sum in order.
  std::string WithNeeds(std::string_view name, conv::Direction direction) const {
    Conv2dVariants variants;
    variants[direction] = name;
    const auto conv =
        CreateConv2d(*device_, spec_, variants,
                     {.directions = conv::Only(direction), .keeps_filter = use_.keeps_filter});
    if (!conv.ok()) return StrCat(name, " (", conv.status().message(), ")");
    const double bytes = double((*conv)->workspace_bytes() + (*conv)->kept_bytes());
    const double error = Conv2dError(name, spec_, direction);
    return absl::StrFormat("%s (%.3g MB%s)", name, bytes / 1e6,
                           error > 1 ? absl::StrFormat(", rounds %.2gx", error) : "");
  }

  // Bytes that the convolution keeps; what is folded in follows them.
  size_t FoldedOffset() const { return RoundUp(conv_->kept_bytes(), Buffer::kAlignment); }
  ParameterView Filter(std::span<const ParameterView> parameters) const {
    return {parameters[0].tensor.Reshaped(used_filter_), parameters[0].version};
  }

  DeviceContext* device_;
  std::unique_ptr<Conv2d> conv_;
  Conv2dSpec spec_;
  Conv2dUse use_;
  Refusals refusals_;
  Shape filter_, used_filter_;  // the weights as the primitive knows them, and what it reads
  bool bias_, bias_gradient_, frozen_, adds_, in_host_memory_;
  std::optional<FoldedLayer> folded_;
};

}  // namespace

std::shared_ptr<const Layer> Conv2dLayer::FromAttributes(AttributeReader& read) {
  const int64_t filters = read.Int("filters");
  Conv2dOptions options;
  options.kernel = read.TwoInts("kernel");
  options.stride = read.TwoInts("stride");
  options.padding = read.TwoInts("padding");
  options.dilation = read.TwoInts("dilation");
  options.bias = read.Switch("bias");
  options.grouping = read.Word("grouping", ParseConvGrouping);
  options.initializer = read.Word("initializer", ParseInitializerKind);
  if (read.Has("groups")) options.groups = read.Int("groups");
  return std::make_shared<Conv2dLayer>(filters, options);
}

Attributes Conv2dLayer::attributes() const {
  Attributes attributes = {{"filters", filters_},
                           {"kernel", PairAttribute(options_.kernel)},
                           {"stride", PairAttribute(options_.stride)},
                           {"padding", PairAttribute(options_.padding)},
                           {"dilation", PairAttribute(options_.dilation)},
                           {"bias", int64_t{options_.bias}},
                           {"grouping", Name(options_.grouping)},
                           {"initializer", std::string(dtnn::Name(options_.initializer))}};
  if (options_.groups != 1) attributes.emplace_back("groups", options_.groups);
  return attributes;
}

int64_t Conv2dLayer::Filters(const Shape& input, TensorFormat format) const {
  if (options_.grouping == ConvGrouping::kDepthwise) return ExtentsOf(input, format).channels;
  return filters_;
}

Conv2dSpec Conv2dLayer::Spec(const Shape& input, TensorFormat format) const {
  const ImageExtents image = ExtentsOf(input, format);
  Conv2dSpec spec;
  spec.batch = 1;
  spec.height = image.height;
  spec.width = image.width;
  spec.channels = image.channels;
  spec.filters = Filters(input, format);
  spec.kernel = options_.grouping == ConvGrouping::kPointwise ? Pair(1) : options_.kernel;
  if (options_.grouping == ConvGrouping::kDepthwise) {
    spec.groups = image.channels;
    spec.filter_format = TensorFormat::kNCHW;  // (channels, kh, kw) in both
  } else if (options_.grouping == ConvGrouping::kStandard) {
    spec.groups = options_.groups;
  }
  spec.stride = options_.stride;
  spec.padding = options_.padding;
  spec.dilation = options_.dilation;
  spec.format = format;
  spec.epilogue.bias = options_.bias;
  return spec;
}

absl::StatusOr<Shape> Conv2dLayer::OutputShape(std::span<const Shape> inputs,
                                               TensorFormat format) const {
  DTNN_RETURN_IF_ERROR(ExpectOneImage(inputs));
  if (options_.groups != 1 && options_.grouping != ConvGrouping::kStandard) {
    return absl::InvalidArgumentError("groups are for standard convolutions");
  }
  const Conv2dSpec spec = Spec(inputs[0], format);
  DTNN_RETURN_IF_ERROR(spec.Validate());
  return spec.OutputShape().DropFirst();
}

std::vector<ParameterSpec> Conv2dLayer::Parameters(std::span<const Shape> inputs,
                                                   TensorFormat format) const {
  const Conv2dSpec spec = Spec(inputs[0], format);
  const int64_t taps = spec.kernel.vertical * spec.kernel.horizontal;
  const bool nhwc = format == TensorFormat::kNHWC;
  Shape shape = spec.FilterShape();
  ParameterLayout layout = ParameterLayout::kFilter;
  Initializer initializer = {options_.initializer, spec.channels / spec.groups * taps,
                             spec.filters / spec.groups * taps};
  if (options_.grouping == ConvGrouping::kDepthwise) {
    shape = Shape{spec.channels, spec.kernel.vertical, spec.kernel.horizontal};
    initializer.fan_in = initializer.fan_out = taps;
    layout = ParameterLayout::kFixed;
  } else if (options_.grouping == ConvGrouping::kPointwise) {
    shape = nhwc ? Shape{spec.channels, spec.filters} : Shape{spec.filters, spec.channels};
  }
  std::vector<ParameterSpec> parameters = {
      {.name = "weights", .shape = shape, .initializer = initializer, .layout = layout}};
  if (options_.bias) {
    parameters.push_back({.name = "biases", .shape = Shape{spec.filters}, .initializer = {}});
  }
  return parameters;
}

absl::StatusOr<std::unique_ptr<LayerOp>> Conv2dLayer::Bind(const BindContext& context) const {
  Conv2dSpec spec = Spec(context.inputs[0], context.format);
  spec.batch = context.batch;
  spec.dtype = context.dtype;
  spec.epilogue.add = context.fuse_addition;
  spec.tf32 = context.tf32;
  spec.epilogue.relu = context.fuse_relu;
  std::optional<FoldedLayer> folded;
  if (context.fuse_normalization != nullptr) {
    spec.epilogue.bias = true;
    spec.epilogue.scale = TraitsOf(context.device->device()).scales_results;
    DTNN_ASSIGN_OR_RETURN(folded, FoldedLayer::Create(*context.device, *context.fuse_normalization,
                                                      spec, UseOf(context)));
  }
  DTNN_ASSIGN_OR_RETURN(const Conv2dVariants variants,
                        ChooseConvVariants(context, spec, UseOf(context)));
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Conv2d> conv,
                        CreateConv2d(*context.device, spec, variants, UseOf(context)));
  return std::make_unique<Conv2dOp>(*context.device, std::move(conv), spec, UseOf(context),
                                    RefusalsOf(context.conv_variant, spec), options_.bias, context,
                                    std::move(folded));
}

int64_t Conv2dLayer::MultiplyAdds(std::span<const Shape> inputs, TensorFormat format) const {
  const Conv2dSpec spec = Spec(inputs[0], format);
  return SaturatingProduct({spec.out_height(), spec.out_width(), spec.FilterShape().NumElements()});
}

std::string Conv2dLayer::SettingsCell() const {
  return GeometryCell(options_.padding, options_.stride, options_.dilation) +
         (options_.groups == 1 ? "" : StrCat(", groups=", options_.groups));
}

}  // namespace dtnn
