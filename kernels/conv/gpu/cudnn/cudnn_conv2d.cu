// The convolution by cuDNN. What it has no plan for, a direction or a call, runs as variant plain.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>

#include "kernels/bias/bias.h"
#include "kernels/cast/cast_body.h"
#include "kernels/conv/check.h"
#include "kernels/conv/gpu/cudnn/call_shape.h"
#include "kernels/conv/gpu/cudnn/conv_graph.h"
#include "kernels/conv/gpu/cudnn/conv_plans.h"
#include "kernels/conv/gpu/cudnn/filter_order.h"
#include "kernels/conv/gpu/cudnn/library.h"
#include "kernels/conv/gpu/cudnn/plan.h"
#include "kernels/conv/gpu/variants.h"
#include "kernels/device/cuda_context.h"
#include "kernels/elementwise/operands.h"
#include "kernels/gpu/runner.h"
#include "kernels/workspace/scratch.h"
#include "tensor/status_macros.h"

namespace dtnn::cudnn {
namespace {

using conv::Direction;

class CudnnConv2d final : public Conv2d {
 public:
  static absl::StatusOr<std::unique_ptr<Conv2d>> Create(CudaContext& context,
                                                        const Conv2dSpec& spec,
                                                        const Conv2dUse& use) {
    DTNN_ASSIGN_OR_RETURN(Library* const library, Library::Of(context));
    DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Conv2d> plain,
                          conv::CreatePlainConv2d(context, spec, use));
    DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Bias> bias, CreateBias(context, {.channels = spec.filters,
                                                                           .format = spec.format,
                                                                           .dtype = spec.dtype}));
    std::unique_ptr<CudnnConv2d> conv(
        new CudnnConv2d(context, *library, spec, use, std::move(plain), std::move(bias)));
    DTNN_RETURN_IF_ERROR(conv->plans_.MakeFirst(use.directions));
    return conv;
  }

  absl::Status Forward(const Tensor& x, const ParameterView& filter, const Tensor& y,
                       const EpilogueOperands& operands, Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(CheckDirection(Direction::kForward));
    DTNN_RETURN_IF_ERROR(
        CheckConv2dForward(spec_, runner_.device(), x, filter.tensor, y, operands, use_));
    DTNN_RETURN_IF_ERROR(CheckConv2dWorkspace(workspace, workspace_bytes()));
    if (x.shape()[0] == 0) return absl::OkStatus();
    const Epilogue& epilogue = spec_.epilogue;
    Pack pack;
    pack.Add(kX, x);
    pack.Add(kY, y);
    const Division memory = Divide(workspace.data());
    if (epilogue.scale) {
      DTNN_RETURN_IF_ERROR(AddVector(kScale, operands.scale, memory.scale, pack));
    }
    if (epilogue.bias) {
      DTNN_RETURN_IF_ERROR(AddVector(kBias, operands.bias, memory.bias, pack));
    }
    if (epilogue.add) pack.Add(kAddend, operands.addend);
    DTNN_ASSIGN_OR_RETURN(
        const Plan* const plan,
        plans_.For(CallOf(Direction::kForward, x, y, epilogue.add ? operands.addend : Tensor(),
                          false, pack, reorders_ ? Tensor() : filter.tensor)));
    if (plan == nullptr) return plain_->Forward(x, filter, y, operands, workspace);
    DTNN_ASSIGN_OR_RETURN(std::byte* const weights, Used(filter.tensor, workspace));
    pack.Add(kFilter, weights);
    return Execute(*plan, pack, workspace);
  }

  absl::Status BackwardData(const Tensor& dy, const ParameterView& filter, const Tensor& dx,
                            bool accumulate, Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(CheckDirection(Direction::kBackwardData));
    DTNN_RETURN_IF_ERROR(
        CheckConv2dBackwardData(spec_, runner_.device(), dy, filter.tensor, dx, use_));
    DTNN_RETURN_IF_ERROR(CheckConv2dWorkspace(workspace, workspace_bytes()));
    if (dy.shape()[0] == 0) return absl::OkStatus();
    Pack pack;
    pack.Add(kX, dx);
    pack.Add(kY, dy);
    DTNN_ASSIGN_OR_RETURN(const Plan* const plan,
                          plans_.For(CallOf(Direction::kBackwardData, dx, dy, Tensor(), accumulate,
                                            pack, reorders_ ? Tensor() : filter.tensor)));
    if (plan == nullptr) return plain_->BackwardData(dy, filter, dx, accumulate, workspace);
    DTNN_ASSIGN_OR_RETURN(std::byte* const weights, Used(filter.tensor, workspace));
    pack.Add(kFilter, weights);
    return Execute(*plan, pack, workspace);
  }

  absl::Status BackwardFilter(const Tensor& x, const Tensor& dy, const Tensor& dfilter,
                              const Tensor& dbias, bool accumulate, Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(CheckDirection(Direction::kBackwardFilter));
    DTNN_RETURN_IF_ERROR(CheckConv2dBackwardFilter(spec_, runner_.device(), x, dy, dfilter, dbias));
    DTNN_RETURN_IF_ERROR(CheckConv2dWorkspace(workspace, workspace_bytes()));
    Pack pack;
    pack.Add(kX, x);
    pack.Add(kY, dy);
    const Plan* plan = nullptr;
    if (x.shape()[0] > 0) {
      DTNN_ASSIGN_OR_RETURN(
          plan, plans_.For(CallOf(Direction::kBackwardFilter, x, dy, Tensor(),
                                  accumulate && !stores_, pack, stores_ ? Tensor() : dfilter)));
    }
    if (plan == nullptr) {
      return plain_->BackwardFilter(x, dy, dfilter, dbias, accumulate, workspace);
    }
    std::byte* const gradient = stores_ ? Divide(workspace.data()).filter : dfilter.raw_data();
    pack.Add(kFilter, gradient);
    DTNN_RETURN_IF_ERROR(Execute(*plan, pack, workspace));
    if (stores_) DTNN_RETURN_IF_ERROR(Store(gradient, dfilter, accumulate));
    return dbias.empty() ? absl::OkStatus() : bias_->Backward(dy, dbias, accumulate);
  }

  size_t workspace_bytes() const override {
    return std::max(plain_->workspace_bytes(),
                    Divide(nullptr).bytes + size_t(plans_.workspace_bytes()));
  }
  std::string_view variant(Direction direction) const override {
    return plans_.Computes(direction) ? "cudnn" : plain_->variant(direction);
  }

 private:
  CudnnConv2d(CudaContext& context, Library& library, const Conv2dSpec& spec, const Conv2dUse& use,
              std::unique_ptr<Conv2d> plain, std::unique_ptr<Bias> bias)
      : runner_(context),
        spec_(spec),
        use_(use),
        reorders_(!use.channels_last_filter && IsReordered(spec)),
        stores_(use.directions[Direction::kBackwardFilter] && StoresGradient(spec)),
        plain_(std::move(plain)),
        bias_(std::move(bias)),
        plans_(context, library, spec) {}

  absl::Status CheckDirection(Direction direction) const {
    return CheckConv2dDirection(use_.directions[direction], direction);
  }
  // `filter`: empty where it lies in the workspace.
  CallShape CallOf(Direction direction, const Tensor& x, const Tensor& y, const Tensor& addend,
                   bool accumulate, const Pack& pack, const Tensor& filter) const {
    CallShape call = {.direction = direction, .images = x.shape()[0], .accumulate = accumulate};
    const auto pitch = [&](const Tensor& tensor) {
      return spec_.format == TensorFormat::kNHWC ? tensor.PixelPitch() : tensor.ImagePitch();
    };
    call.x_pitch = pitch(x);
    call.y_pitch = pitch(y);
    if (!addend.empty()) call.addend_pitch = pitch(addend);
    uintptr_t bits = 16;
    for (const void* pointer : pack.pointers()) bits |= reinterpret_cast<uintptr_t>(pointer);
    if (!filter.empty()) bits |= reinterpret_cast<uintptr_t>(filter.raw_data());
    call.alignment = int64_t{1} << std::countr_zero(bits);
    return call;
  }

  // What of the workspace comes before cuDNN's own: operands that it cannot take as they are.
  struct Division {
    std::byte *filter, *scale, *bias;  // filter: or its gradient
    size_t bytes;
  };
  Division Divide(std::byte* memory) const {
    const int64_t size = int64_t(SizeOf(spec_.dtype));
    const auto vector = [&](bool wanted) {
      return IsHalf(spec_.dtype) && wanted ? spec_.filters : 0;
    };
    ScratchDivider divider(memory, kGpuScratchAlignment);
    Division division = {};
    division.filter = divider.Take<std::byte>(
        reorders_ || stores_ ? spec_.FilterShape().NumElements() * size : 0);
    division.scale = divider.Take<std::byte>(vector(spec_.epilogue.scale) * size);
    division.bias = divider.Take<std::byte>(vector(spec_.epilogue.bias) * size);
    division.bytes = divider.bytes();
    return division;
  }
  // The filter in the order that cuDNN computes with: a copy in the workspace where that differs.
  absl::StatusOr<std::byte*> Used(const Tensor& filter, Workspace workspace) const {
    if (!reorders_) return filter.raw_data();
    std::byte* const used = Divide(workspace.data()).filter;
    DTNN_RETURN_IF_ERROR(DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      return conv::Transpose(runner_, "filter for cuDNN", ToUsed(spec_), /*accumulate=*/false,
                             static_cast<const T*>(filter.data<T>()), reinterpret_cast<T*>(used));
    }));
    return used;
  }
  // The gradient in the workspace, in the order of the filter and in float32.
  absl::Status Store(std::byte* gradient, const Tensor& dfilter, bool accumulate) const {
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      using W = Wide<T>;
      const T* const from = reinterpret_cast<const T*>(gradient);
      W* const to = dfilter.data<W>();
      if (IsReordered(spec_)) {
        return conv::Transpose(runner_, "filter from cuDNN", ToUsed(spec_).Inverse(), accumulate,
                               from, to);
      }
      return runner_.ForEach("filter from cuDNN", dfilter.num_elements(),
                             StoreFilterBody<T, W>{accumulate, from, to});
    });
  }
  // A vector of the epilogue; rounded to `rounded` where images have 16 bits.
  absl::Status AddVector(int64_t name, const Tensor& vector, std::byte* rounded, Pack& pack) const {
    if (vector.dtype() == spec_.dtype) {
      pack.Add(name, vector);
      return absl::OkStatus();
    }
    pack.Add(name, rounded);
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      return runner_.ForEach(
          "vector for cuDNN", spec_.filters,
          CastBody<Wide<T>, T>{vector.data<Wide<T>>(), reinterpret_cast<T*>(rounded)});
    });
  }

  absl::Status Execute(const Plan& plan, const Pack& call, Workspace workspace) const {
    return plans_.Execute(plan, call, workspace.data() + Divide(nullptr).bytes);
  }

  GpuRunner runner_;
  Conv2dSpec spec_;
  Conv2dUse use_;
  bool reorders_, stores_;  // the filter; its gradient, reordered or converted
  std::unique_ptr<Conv2d> plain_;
  std::unique_ptr<Bias> bias_;
  ConvPlans plans_;
};

}  // namespace
}  // namespace dtnn::cudnn

namespace dtnn::conv {

absl::StatusOr<std::unique_ptr<Conv2d>> CreateCudnnConv2d(DeviceContext& context,
                                                          const Conv2dSpec& spec,
                                                          const Conv2dUse& use) {
  if (context.device().type != DeviceType::kCuda) {
    return absl::InvalidArgumentError("cuDNN runs on NVIDIA's GPUs, not on " +
                                      context.device().ToString());
  }
  return cudnn::CudnnConv2d::Create(static_cast<CudaContext&>(context), spec, use);
}

}  // namespace dtnn::conv
