// The convolution without a library: for simulated GPUs, as the fallback of cuDNN, and as its peer
// in tests.

#include <algorithm>
#include <utility>

#include "kernels/bias/bias.h"
#include "kernels/conv/check.h"
#include "kernels/conv/gpu/plain_bodies.h"
#include "kernels/conv/gpu/variants.h"
#include "kernels/elementwise/operands.h"
#include "tensor/status_macros.h"

namespace dtnn::conv {

class PlainConv2d final : public Conv2d {
 public:
  PlainConv2d(const GpuRunner& runner, const Conv2dSpec& spec, const Conv2dUse& use,
              std::unique_ptr<Bias> bias)
      : runner_(runner), spec_(spec), use_(use), bias_(std::move(bias)) {}

  absl::Status Forward(const Tensor& x, const ParameterView& filter, const Tensor& y,
                       const EpilogueOperands& operands, Workspace) override {
    DTNN_RETURN_IF_ERROR(CheckDirection(Direction::kForward));
    DTNN_RETURN_IF_ERROR(
        CheckConv2dForward(spec_, runner_.device(), x, filter.tensor, y, operands, use_));
    const Epilogue& epilogue = spec_.epilogue;
    const PlainGeometry geometry = PlainGeometry::Of(spec_, x.shape()[0]);
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      using W = Wide<T>;
      const bool rounded = operands.bias.dtype() != WideOf(spec_.dtype);
      return runner_.ForEach(
          "convolution", geometry.out.size(),
          PlainForwardBody<T>{geometry, spec_.tf32, ImageView<const T>::Of(x, spec_.format),
                              FilterView<const T>::Of(filter.tensor, spec_, use_),
                              ImageView<T>::Of(y, spec_.format),
                              epilogue.scale ? operands.scale.data<W>() : nullptr,
                              epilogue.bias && !rounded ? operands.bias.data<W>() : nullptr,
                              epilogue.bias && rounded ? operands.bias.data<T>() : nullptr,
                              epilogue.add ? ImageView<const T>::Of(operands.addend, spec_.format)
                                           : ImageView<const T>(),
                              epilogue.relu});
    });
  }

  absl::Status BackwardData(const Tensor& dy, const ParameterView& filter, const Tensor& dx,
                            bool accumulate, Workspace) override {
    DTNN_RETURN_IF_ERROR(CheckDirection(Direction::kBackwardData));
    DTNN_RETURN_IF_ERROR(
        CheckConv2dBackwardData(spec_, runner_.device(), dy, filter.tensor, dx, use_));
    const PlainGeometry geometry = PlainGeometry::Of(spec_, dy.shape()[0]);
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      return runner_.ForEach("convolution backward data", geometry.in.size(),
                             PlainDataBody<T>{geometry, spec_.tf32, accumulate,
                                              ImageView<const T>::Of(dy, spec_.format),
                                              FilterView<const T>::Of(filter.tensor, spec_, use_),
                                              ImageView<T>::Of(dx, spec_.format)});
    });
  }

  absl::Status BackwardFilter(const Tensor& x, const Tensor& dy, const Tensor& dfilter,
                              const Tensor& dbias, bool accumulate, Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(CheckDirection(Direction::kBackwardFilter));
    DTNN_RETURN_IF_ERROR(CheckConv2dBackwardFilter(spec_, runner_.device(), x, dy, dfilter, dbias));
    DTNN_RETURN_IF_ERROR(CheckConv2dWorkspace(workspace, workspace_bytes()));
    const PlainGeometry geometry = PlainGeometry::Of(spec_, x.shape()[0]);
    const FilterParts parts = PartsOf(x.shape()[0]);
    DTNN_RETURN_IF_ERROR(DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      using W = Wide<T>;
      FilterView<const W> shape = FilterView<const W>::Stored(dfilter, spec_);
      shape.data = nullptr;
      W* const sums = reinterpret_cast<W*>(workspace.data());
      DTNN_RETURN_IF_ERROR(runner_.ForEach(
          "convolution backward filter", parts.threads(),
          PlainFilterBody<T>{geometry, spec_.tf32, parts, ImageView<const T>::Of(x, spec_.format),
                             ImageView<const T>::Of(dy, spec_.format), shape, sums}));
      return runner_.ForEach("convolution backward filter", parts.elements,
                             AddPartsBody<W>{parts, accumulate, sums, dfilter.data<W>()});
    }));
    return dbias.empty() ? absl::OkStatus() : bias_->Backward(dy, dbias, accumulate);
  }

  size_t workspace_bytes() const override {
    if (!use_.directions[Direction::kBackwardFilter]) return 0;
    return size_t(PartsOf(spec_.batch).threads()) * SizeOf(WideOf(spec_.dtype));
  }
  std::string_view variant(Direction direction) const override {
    return use_.directions[direction] ? "plain" : "";
  }

 private:
  absl::Status CheckDirection(Direction direction) const {
    return CheckConv2dDirection(use_.directions[direction], direction);
  }
  // Enough threads for a GPU where the filter is small, and at most a row of outputs each.
  FilterParts PartsOf(int64_t images) const {
    constexpr int64_t kThreads = 1 << 16;
    const int64_t elements = spec_.FilterShape().NumElements();
    const int64_t lines = images * spec_.out_height();
    const int64_t parts = std::min({kThreads / elements, FilterParts::kMost, lines});
    return {.elements = elements, .parts = std::max<int64_t>(parts, 1)};
  }

  GpuRunner runner_;
  Conv2dSpec spec_;
  Conv2dUse use_;
  std::unique_ptr<Bias> bias_;
};

absl::StatusOr<std::unique_ptr<Conv2d>> CreatePlainConv2d(DeviceContext& context,
                                                          const Conv2dSpec& spec,
                                                          const Conv2dUse& use) {
  if (context.device().is_cpu()) {
    return NoKernelFor("convolution variant plain", context.device());
  }
  DTNN_ASSIGN_OR_RETURN(
      std::unique_ptr<Bias> bias,
      CreateBias(context, {.channels = spec.filters, .format = spec.format, .dtype = spec.dtype}));
  return std::make_unique<PlainConv2d>(GpuRunner(context), spec, use, std::move(bias));
}

}  // namespace dtnn::conv
