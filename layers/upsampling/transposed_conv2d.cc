#include "layers/upsampling/transposed_conv2d.h"

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>

#include "kernels/add/add.h"
#include "kernels/bias/bias.h"
#include "kernels/conv/conv2d.h"
#include "kernels/conv/filter_copies/filter_copies.h"
#include "layers/base/conv_variants.h"
#include "layers/base/geometry_cell.h"
#include "layers/base/input_check.h"
#include "layers/base/saturating.h"
#include "tensor/errors.h"
#include "tensor/rounding.h"

namespace dtnn {
namespace {

// The most that options, heights and widths may be: what is computed of them fits 64 bits.
constexpr int64_t kMostOption = int64_t{1} << 24;

// What a bound layer will run of the convolution: its gradient of the input is this layer's forward
// pass, and the other way round.
Conv2dUse UseOf(const BindContext& context) {
  using enum conv::Direction;
  const bool backward = context.training && context.backward;
  Conv2dUse use = {.directions = conv::Only(kBackwardData), .keeps_filter = !context.training};
  use.directions[kForward] = backward && context.input_gradient;
  use.directions[kBackwardFilter] = backward && !context.frozen;
  use.channels_last_filter =
      IsHalf(context.dtype) && CopiesFiltersChannelsLast(context.device->device(), context.format);
  return use;
}

class TransposedConv2dOp : public LayerOp {
 public:
  TransposedConv2dOp(std::unique_ptr<Conv2d> conv, std::unique_ptr<Bias> bias,
                     std::unique_ptr<Add> add, const Conv2dSpec& spec, const Conv2dUse& use,
                     const BindContext& context)
      : conv_(std::move(conv)),
        bias_(std::move(bias)),
        add_(std::move(add)),
        use_(use),
        filter_(spec.FilterShape()),
        used_filter_(use.FilterShape(spec)),
        dx_(spec.OutputShape()),
        dtype_(spec.dtype),
        bias_gradient_(context.bias_gradient),
        frozen_(context.frozen) {}

  LayerOpTraits traits() const override {
    return {.backward_reads_input = !frozen_,
            .workspace_bytes = conv_->workspace_bytes(),
            .kept_bytes = SumOffset() + SumBytes()};
  }
  absl::Status Keep(std::shared_ptr<Buffer> memory) override {
    memory_ = memory;
    return conv_->Keep(std::move(memory));
  }

  // Named as the layer's directions, not as the convolution's.
  std::string Algorithms() const override {
    using enum conv::Direction;
    constexpr std::array<std::pair<conv::Direction, std::string_view>, 3> kWords = {{
        {kBackwardData, "forward"},
        {kForward, "backward data"},
        {kBackwardFilter, "backward filter"},
    }};
    std::string text;
    for (const auto& [direction, word] : kWords) {
      if (!use_.directions[direction]) continue;
      StrAppend(&text, text.empty() ? "" : ", ", word, " ", conv_->variant(direction));
    }
    return text;
  }

  absl::Status Forward(const ForwardArgs& args) override {
    DTNN_RETURN_IF_ERROR(conv_->BackwardData(args.inputs[0], Filter(args.parameters), args.output,
                                             /*accumulate=*/false, args.workspace));
    if (bias_ == nullptr) return absl::OkStatus();
    return bias_->Forward(args.output, args.parameters[1].tensor, args.output);
  }

  absl::Status Backward(const BackwardArgs& args) override {
    if (!frozen_) {
      DTNN_RETURN_IF_ERROR(conv_->BackwardFilter(args.dy, args.inputs[0],
                                                 args.gradients[0].Reshaped(filter_), Tensor(),
                                                 /*accumulate=*/false, args.workspace));
      if (bias_ != nullptr && bias_gradient_) {
        DTNN_RETURN_IF_ERROR(bias_->Backward(args.dy, args.gradients[1], /*accumulate=*/false));
      }
    }
    const Tensor& dx = args.dx[0];
    if (dx.empty()) return absl::OkStatus();
    if (!args.accumulate[0]) return BackwardData(args, dx);
    // A convolution does not add to what is there.
    const Tensor sum = Tensor::View(memory_, SumOffset(), dtype_, dx.shape());
    DTNN_RETURN_IF_ERROR(BackwardData(args, sum));
    return add_->Run(std::array{sum}, dx, /*accumulate=*/true);
  }

 private:
  absl::Status BackwardData(const BackwardArgs& args, const Tensor& dx) const {
    return conv_->Forward(args.dy, Filter(args.parameters), dx, {}, args.workspace);
  }
  ParameterView Filter(std::span<const ParameterView> parameters) const {
    return {parameters[0].tensor.Reshaped(used_filter_), parameters[0].version};
  }
  // Bytes that the convolution keeps; the gradient that will be added follows them.
  size_t SumOffset() const { return RoundUp(conv_->kept_bytes(), Buffer::kAlignment); }
  size_t SumBytes() const {
    return add_ == nullptr ? 0 : size_t(dx_.NumElements()) * SizeOf(dtype_);
  }

  std::unique_ptr<Conv2d> conv_;
  std::unique_ptr<Bias> bias_;  // null: none
  std::unique_ptr<Add> add_;    // null: no gradient of the input
  Conv2dUse use_;
  Shape filter_, used_filter_;  // the weights as the primitive knows them, and what it reads
  Shape dx_;
  std::shared_ptr<Buffer> memory_;
  DType dtype_;
  bool bias_gradient_, frozen_;
};

}  // namespace

std::shared_ptr<const Layer> TransposedConv2dLayer::FromAttributes(AttributeReader& read) {
  const int64_t filters = read.Int("filters");
  TransposedConv2dOptions options;
  options.kernel = read.TwoInts("kernel");
  options.stride = read.TwoInts("stride");
  options.padding = read.TwoInts("padding");
  options.output_padding = read.TwoInts("output_padding");
  options.dilation = read.TwoInts("dilation");
  options.bias = read.Switch("bias");
  options.initializer = read.Word("initializer", ParseInitializerKind);
  options.groups = read.Int("groups");
  return std::make_shared<TransposedConv2dLayer>(filters, options);
}

Attributes TransposedConv2dLayer::attributes() const {
  return {{"filters", filters_},
          {"kernel", PairAttribute(options_.kernel)},
          {"stride", PairAttribute(options_.stride)},
          {"padding", PairAttribute(options_.padding)},
          {"output_padding", PairAttribute(options_.output_padding)},
          {"dilation", PairAttribute(options_.dilation)},
          {"bias", int64_t{options_.bias}},
          {"initializer", std::string(Name(options_.initializer))},
          {"groups", options_.groups}};
}

Conv2dSpec TransposedConv2dLayer::Spec(const Shape& input, TensorFormat format) const {
  const ImageExtents image = ExtentsOf(input, format);
  const auto extent = [](int64_t in, int64_t kernel, int64_t stride, int64_t padding,
                         int64_t output_padding, int64_t dilation) {
    return (in - 1) * stride - 2 * padding + dilation * (kernel - 1) + 1 + output_padding;
  };
  const TransposedConv2dOptions& o = options_;
  Conv2dSpec spec;
  spec.batch = 1;
  spec.height = extent(image.height, o.kernel.vertical, o.stride.vertical, o.padding.vertical,
                       o.output_padding.vertical, o.dilation.vertical);
  spec.width = extent(image.width, o.kernel.horizontal, o.stride.horizontal, o.padding.horizontal,
                      o.output_padding.horizontal, o.dilation.horizontal);
  spec.channels = filters_;
  spec.filters = image.channels;
  spec.kernel = o.kernel;
  spec.stride = o.stride;
  spec.padding = o.padding;
  spec.dilation = o.dilation;
  spec.groups = o.groups;
  spec.format = format;
  return spec;
}

absl::StatusOr<Shape> TransposedConv2dLayer::OutputShape(std::span<const Shape> inputs,
                                                         TensorFormat format) const {
  DTNN_RETURN_IF_ERROR(ExpectOneImage(inputs));
  const TransposedConv2dOptions& o = options_;
  for (const auto& [name, pair, least] :
       {std::tuple("kernel", o.kernel, 1), std::tuple("stride", o.stride, 1),
        std::tuple("padding", o.padding, 0), std::tuple("output_padding", o.output_padding, 0),
        std::tuple("dilation", o.dilation, 1)}) {
    for (const int64_t value : {pair.vertical, pair.horizontal}) {
      if (value >= least && value <= kMostOption) continue;
      return InvalidArgument(name, " is ", value, ", expected ", least, " to ", kMostOption);
    }
  }
  if (o.output_padding.vertical >= o.stride.vertical ||
      o.output_padding.horizontal >= o.stride.horizontal) {
    return absl::InvalidArgumentError(
        "output_padding is not less than stride: the convolution from the output back would have "
        "another size than the input");
  }
  const ImageExtents image = ExtentsOf(inputs[0], format);
  if (image.height > kMostOption || image.width > kMostOption) {
    return InvalidArgument("takes an image of ", ToString(image),
                           ", expected a height and width of ", kMostOption, " at most");
  }
  const Conv2dSpec spec = Spec(inputs[0], format);
  if (spec.height < 1 || spec.width < 1) {
    return InvalidArgument("makes an image of ", spec.height, " x ", spec.width, " of one of ",
                           ToString(image), "; less padding would help");
  }
  DTNN_RETURN_IF_ERROR(spec.Validate());
  return spec.InputShape().DropFirst();
}

std::vector<ParameterSpec> TransposedConv2dLayer::Parameters(std::span<const Shape> inputs,
                                                             TensorFormat format) const {
  const Conv2dSpec spec = Spec(inputs[0], format);
  const int64_t taps = spec.kernel.vertical * spec.kernel.horizontal;
  const Initializer initializer = {options_.initializer, spec.filters / spec.groups * taps,
                                   spec.channels / spec.groups * taps};
  std::vector<ParameterSpec> parameters = {{.name = "weights",
                                            .shape = spec.FilterShape(),
                                            .initializer = initializer,
                                            .layout = ParameterLayout::kFilter}};
  if (options_.bias) {
    parameters.push_back({.name = "biases", .shape = Shape{filters_}, .initializer = {}});
  }
  return parameters;
}

absl::StatusOr<std::unique_ptr<LayerOp>> TransposedConv2dLayer::Bind(
    const BindContext& context) const {
  Conv2dSpec spec = Spec(context.inputs[0], context.format);
  spec.batch = context.batch;
  spec.dtype = context.dtype;
  spec.tf32 = context.tf32;
  const Conv2dUse use = UseOf(context);
  DTNN_ASSIGN_OR_RETURN(const Conv2dVariants variants, ChooseConvVariants(context, spec, use));
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Conv2d> conv,
                        CreateConv2d(*context.device, spec, variants, use));
  std::unique_ptr<Bias> bias;
  if (options_.bias) {
    DTNN_ASSIGN_OR_RETURN(bias,
                          CreateBias(*context.device, {filters_, context.format, context.dtype}));
  }
  std::unique_ptr<Add> add;
  if (use.directions[conv::Direction::kForward]) {
    DTNN_ASSIGN_OR_RETURN(add, CreateAdd(*context.device, {context.format, context.dtype}));
  }
  return std::make_unique<TransposedConv2dOp>(std::move(conv), std::move(bias), std::move(add),
                                              spec, use, context);
}

int64_t TransposedConv2dLayer::MultiplyAdds(std::span<const Shape> inputs,
                                            TensorFormat format) const {
  const ImageExtents image = ExtentsOf(inputs[0], format);
  return SaturatingProduct(
      {image.height, image.width, Spec(inputs[0], format).FilterShape().NumElements()});
}

std::string TransposedConv2dLayer::SettingsCell() const {
  const Pair& more = options_.output_padding;
  return GeometryCell(options_.padding, options_.stride, options_.dilation) +
         (more == Pair(0)
              ? ""
              : StrCat(", output_padding=", Shape{more.vertical, more.horizontal}.ToString())) +
         (options_.groups == 1 ? "" : StrCat(", groups=", options_.groups));
}

}  // namespace dtnn
