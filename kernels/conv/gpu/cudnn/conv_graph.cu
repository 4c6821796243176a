#include <array>
#include <cstddef>
#include <optional>

#include "kernels/conv/gpu/cudnn/conv_graph.h"
#include "kernels/conv/gpu/cudnn/filter_order.h"
#include "tensor/status_macros.h"

namespace dtnn::cudnn {
namespace {

using conv::Direction;
// Batch or filters, channels, height, width: cuDNN's order, whatever lies next to each other.
using Four = std::array<int64_t, 4>;

// The names of the attributes of the three operations.
struct ConvAttributes {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t convolution, x, filter, y, alpha, beta;
};

ConvAttributes AttributesOf(Direction direction) {
  switch (direction) {
    case Direction::kForward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case Direction::kBackwardData:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case Direction::kBackwardFilter:
      break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
}

cudnnDataType_t TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return CUDNN_DATA_DOUBLE;
    case DType::kFloat16:
      return CUDNN_DATA_HALF;
    case DType::kBfloat16:
      return CUDNN_DATA_BFLOAT16;
    case DType::kFloat32:
    case DType::kUint8:
    case DType::kInt32:
    case DType::kInt64:
      break;
  }
  return CUDNN_DATA_FLOAT;
}

// The tensors and operations of one graph.
class Builder {
 public:
  Builder(const Conv2dSpec& spec, const CallShape& call) : spec_(spec), call_(call) {}

  absl::StatusOr<Descriptor> Build(cudnnHandle_t handle) {
    const Descriptor x = Images(kX, spec_.height, spec_.width, spec_.channels, call_.x_pitch);
    const Descriptor filter = Filter();
    const Descriptor y = Output(kY, call_.y_pitch);
    if (call_.direction != Direction::kForward) {
      Convolve(x, filter, y);
    } else {
      Forward(x, filter, y);
    }
    Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.Refer(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations_);
    if (handle != nullptr) {
      graph.Enum(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
    }
    graph.Finalize();
    DTNN_RETURN_IF_ERROR(graph.status());
    return graph;
  }

 private:
  bool channels_last() const { return spec_.format == TensorFormat::kNHWC; }
  // In which sums are taken and values pass from one operation to the next. What is stored has the
  // spec's type: of other vectors, and of a wider gradient of the filter, cuDNN wants to know
  // nothing where images have 16 bits.
  cudnnDataType_t wide_type() const { return TypeOf(WideOf(spec_.dtype)); }

  Descriptor Tensor(int64_t name, const Four& extents, const Four& strides) {
    // What has no memory is as aligned as can be: operands of 16 bits at an address that float32
    // could not have do not make it refuse a wide sum.
    constexpr int64_t kVirtualAlignment = 16;
    const bool is_virtual = name >= kFirstVirtual;
    Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    tensor.Int(CUDNN_ATTR_TENSOR_UNIQUE_ID, name)
        .Type(CUDNN_ATTR_TENSOR_DATA_TYPE, is_virtual ? wide_type() : TypeOf(spec_.dtype))
        .Ints(CUDNN_ATTR_TENSOR_DIMENSIONS, extents)
        .Ints(CUDNN_ATTR_TENSOR_STRIDES, strides)
        .Int(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, is_virtual ? kVirtualAlignment : call_.alignment)
        .Flag(CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual)
        .Flag(CUDNN_ATTR_TENSOR_IS_BY_VALUE, false);
    return tensor.Finalize();
  }
  Descriptor Images(int64_t name, int64_t height, int64_t width, int64_t channels, int64_t pitch) {
    const Four extents = {call_.images, channels, height, width};
    if (channels_last()) {
      return Tensor(name, extents, {height * width * pitch, 1, width * pitch, pitch});
    }
    return Tensor(name, extents, {pitch, height * width, width, 1});
  }
  Descriptor Output(int64_t name, int64_t pitch) {
    return Images(name, spec_.out_height(), spec_.out_width(), spec_.filters, pitch);
  }
  // A value between two operations.
  Descriptor Virtual() {
    return Output(next_virtual_++, DenseCall(spec_, call_.direction, call_.images).y_pitch);
  }
  Descriptor Vector(int64_t name) {
    const int64_t k = spec_.filters;
    return Tensor(name, {1, k, 1, 1}, channels_last() ? Four{k, 1, k, k} : Four{k, 1, 1, 1});
  }
  Descriptor Filter() {
    const auto used = UsedFilter<const std::byte>(nullptr, spec_);
    return Tensor(kFilter, {used.filters, used.channels, used.height, used.width},
                  {used.filter, used.channel, used.width * used.tap, used.tap});
  }

  void Convolve(const Descriptor& x, const Descriptor& filter, const Descriptor& y) {
    const auto two = [](const Pair& pair) {
      return std::array<int64_t, 2>{pair.vertical, pair.horizontal};
    };
    Descriptor convolution(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    convolution.Int(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 2)
        .Type(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, wide_type())
        .Enum(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
              CUDNN_CROSS_CORRELATION)
        .Ints(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, two(spec_.padding))
        .Ints(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, two(spec_.padding))
        .Ints(CUDNN_ATTR_CONVOLUTION_DILATIONS, two(spec_.dilation))
        .Ints(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, two(spec_.stride))
        .Finalize();
    const ConvAttributes names = AttributesOf(call_.direction);
    Descriptor operation(names.type);
    operation.Refer(names.convolution, convolution)
        .Refer(names.x, x)
        .Refer(names.filter, filter)
        .Refer(names.y, y);
    SetScale(operation, names.alpha, 1);
    SetScale(operation, names.beta, call_.accumulate ? 1 : 0);
    operations_.push_back(operation.Finalize());
  }
  void SetScale(Descriptor& operation, cudnnBackendAttributeName_t name, double value) {
    const float single = float(value);
    if (spec_.dtype == DType::kFloat64) {
      operation.Set(name, CUDNN_TYPE_DOUBLE, 1, &value);
    } else {
      operation.Set(name, CUDNN_TYPE_FLOAT, 1, &single);
    }
  }

  // y = relu(scale * conv + bias + addend), as far as the epilogue asks for it.
  void Forward(const Descriptor& x, const Descriptor& filter, const Descriptor& y) {
    struct Link {
      cudnnPointwiseMode_t mode;
      std::optional<Descriptor> operand;
    };
    std::vector<Link> links;
    const Epilogue& epilogue = spec_.epilogue;
    if (epilogue.scale) links.push_back({CUDNN_POINTWISE_MUL, Vector(kScale)});
    if (epilogue.bias) links.push_back({CUDNN_POINTWISE_ADD, Vector(kBias)});
    if (epilogue.add) links.push_back({CUDNN_POINTWISE_ADD, Output(kAddend, call_.addend_pitch)});
    if (epilogue.relu) links.push_back({CUDNN_POINTWISE_RELU_FWD, std::nullopt});
    Descriptor value = links.empty() ? y : Virtual();
    Convolve(x, filter, value);
    for (size_t i = 0; i < links.size(); ++i) {
      const Descriptor result = i + 1 == links.size() ? y : Virtual();
      Pointwise(links[i].mode, value, links[i].operand, result);
      value = result;
    }
  }
  void Pointwise(cudnnPointwiseMode_t mode, const Descriptor& x,
                 const std::optional<Descriptor>& operand, const Descriptor& y) {
    Descriptor pointwise(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    pointwise.Enum(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode)
        .Type(CUDNN_ATTR_POINTWISE_MATH_PREC, wide_type());
    if (mode == CUDNN_POINTWISE_RELU_FWD) {  // a network that diverged must show it
      pointwise.Enum(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION,
                     CUDNN_PROPAGATE_NAN);
    }
    pointwise.Finalize();
    Descriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.Refer(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise)
        .Refer(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x)
        .Refer(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    if (operand.has_value()) operation.Refer(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *operand);
    operations_.push_back(operation.Finalize());
  }

  const Conv2dSpec& spec_;
  const CallShape& call_;
  std::vector<Descriptor> operations_;
  int64_t next_virtual_ = kFirstVirtual;
};

}  // namespace

bool MayUseTensorCores(const Conv2dSpec& spec) {
  return spec.dtype != DType::kFloat32 || spec.tf32;
}

bool MayUseTransforms(const Conv2dSpec& spec) { return IsHalf(spec.dtype) || spec.tf32; }

absl::StatusOr<Descriptor> MakeConvGraph(const Conv2dSpec& spec, const CallShape& call,
                                         cudnnHandle_t handle) {
  return Builder(spec, call).Build(handle);
}

}  // namespace dtnn::cudnn
