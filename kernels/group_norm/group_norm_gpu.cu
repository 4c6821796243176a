#include <cmath>

#include "kernels/elementwise/operands.h"
#include "kernels/gpu/images.h"
#include "kernels/gpu/runner.h"
#include "kernels/group_norm/check.h"
#include "kernels/group_norm/group_norm_gpu.h"
#include "tensor/status_macros.h"

namespace dtnn {

// The sets of a batch, in numbers, and the elements of one.
struct GroupSets {
  ImageGrid grid;
  int64_t groups, group_channels, sets_per_image, set_size;
  bool per_pixel;
  double epsilon;

  static GroupSets Of(const GroupNormSpec& spec, const Tensor& x) {
    return {ImageGrid::Of(x.shape(), spec.format),
            spec.groups,
            spec.group_channels(),
            spec.sets_per_image(),
            spec.set_size(),
            spec.per_pixel,
            spec.epsilon};
  }
  int64_t count() const { return grid.images * sets_per_image; }
  DTNN_HOST_DEVICE int64_t SetOf(const ImageCell& cell) const {
    const int64_t pixel = per_pixel ? cell.row * grid.width + cell.column : 0;
    return cell.image * sets_per_image + pixel * groups + cell.channel / group_channels;
  }
  // Neighbouring elements are neighbours in memory.
  DTNN_HOST_DEVICE ImageCell Element(int64_t set, int64_t i) const {
    const int64_t image = set / sets_per_image, of_image = set % sets_per_image;
    const int64_t pixels = per_pixel ? 1 : grid.height * grid.width;
    const int64_t channel = grid.channels_last ? i % group_channels : i / pixels;
    const int64_t pixel =
        of_image / groups + (grid.channels_last ? i / group_channels : i % pixels);
    return {image, pixel / grid.width, pixel % grid.width,
            of_image % groups * group_channels + channel};
  }
};

// Mean and 1 / s of a set, which all lanes get.
template <typename T, class Group>
DTNN_HOST_DEVICE inline void FindMoments(const GroupSets& sets, const ImageView<const T>& x,
                                         int64_t set, const Group& group, Wide<T>& mean,
                                         Wide<T>& inverse) {
  using W = Wide<T>;
  W sum = 0, squares = 0;
  for (int64_t i = group.lane(); i < sets.set_size; i += group.size()) {
    sum += W(x[sets.Element(set, i)]);
  }
  mean = group.Sum(sum) / W(sets.set_size);
  for (int64_t i = group.lane(); i < sets.set_size; i += group.size()) {
    const W deviation = W(x[sets.Element(set, i)]) - mean;
    squares += deviation * deviation;
  }
  inverse = W(1) / std::sqrt(group.Sum(squares) / W(sets.set_size) + W(sets.epsilon));
}

template <typename T>
struct GroupNormForwardBody {
  GroupSets sets;
  ImageView<const T> x;
  const Wide<T>*gamma, *beta;
  ImageView<T> y;

  void Declare(int64_t, gpu::Accesses& accesses) {
    x.Declare(sets.grid, accesses);
    y.Declare(sets.grid, accesses);
    accesses.Reads(gamma, sets.grid.channels);
    accesses.Reads(beta, sets.grid.channels);
  }
  template <class Group>
  DTNN_HOST_DEVICE void operator()(int64_t set, Group group) const {
    using W = Wide<T>;
    W mean = 0, inverse = 0;
    FindMoments<T>(sets, x, set, group, mean, inverse);
    for (int64_t i = group.lane(); i < sets.set_size; i += group.size()) {
      const ImageCell cell = sets.Element(set, i);
      y[cell] = T((W(x[cell]) - mean) * inverse * gamma[cell.channel] + beta[cell.channel]);
    }
  }
};

// Mean and 1 / s of every set, for the two passes after it.
template <typename T>
struct GroupNormMomentsBody {
  GroupSets sets;
  ImageView<const T> x;
  Wide<T>* moments;

  void Declare(int64_t n, gpu::Accesses& accesses) {
    x.Declare(sets.grid, accesses);
    accesses.Writes(moments, 2 * n);
  }
  template <class Group>
  DTNN_HOST_DEVICE void operator()(int64_t set, Group group) const {
    Wide<T> mean = 0, inverse = 0;
    FindMoments<T>(sets, x, set, group, mean, inverse);
    if (group.lane() != 0) return;
    moments[2 * set] = mean;
    moments[2 * set + 1] = inverse;
  }
};

template <typename T>
struct GroupNormChannelBody {
  GroupSets sets;
  ImageView<const T> x, dy;
  const Wide<T>* moments;
  Wide<T>*dgamma, *dbeta;

  void Declare(int64_t n, gpu::Accesses& accesses) {
    x.Declare(sets.grid, accesses);
    dy.Declare(sets.grid, accesses);
    accesses.Reads(moments, 2 * sets.count());
    accesses.Writes(dgamma, n);
    accesses.Writes(dbeta, n);
  }
  template <class Group>
  DTNN_HOST_DEVICE void operator()(int64_t channel, Group group) const {
    using W = Wide<T>;
    const int64_t pixels = sets.grid.height * sets.grid.width;
    double sum = 0, product = 0;
    for (int64_t i = group.lane(); i < sets.grid.images * pixels; i += group.size()) {
      const int64_t pixel = i % pixels;
      const ImageCell cell = {i / pixels, pixel / sets.grid.width, pixel % sets.grid.width,
                              channel};
      const int64_t set = sets.SetOf(cell);
      const W z = (W(x[cell]) - moments[2 * set]) * moments[2 * set + 1];
      sum += double(dy[cell]);
      product += double(W(dy[cell]) * z);
    }
    sum = group.Sum(sum);
    product = group.Sum(product);
    if (group.lane() != 0) return;
    dbeta[channel] = W(sum);
    dgamma[channel] = W(product);
  }
};

template <typename T>
struct GroupNormDataBody {
  GroupSets sets;
  bool accumulate;
  ImageView<const T> x, dy;
  const Wide<T>*gamma, *moments;
  ImageView<T> dx;

  void Declare(int64_t n, gpu::Accesses& accesses) {
    x.Declare(sets.grid, accesses);
    dy.Declare(sets.grid, accesses);
    dx.Declare(sets.grid, accesses);
    accesses.Reads(gamma, sets.grid.channels);
    accesses.Reads(moments, 2 * n);
  }
  template <class Group>
  DTNN_HOST_DEVICE void operator()(int64_t set, Group group) const {
    using W = Wide<T>;
    const W mean = moments[2 * set], inverse = moments[2 * set + 1];
    W sum = 0, product = 0;
    for (int64_t i = group.lane(); i < sets.set_size; i += group.size()) {
      const ImageCell cell = sets.Element(set, i);
      const W g = gamma[cell.channel] * W(dy[cell]);
      sum += g;
      product += g * (W(x[cell]) - mean) * inverse;
    }
    sum = group.Sum(sum) / W(sets.set_size);
    product = group.Sum(product) / W(sets.set_size);
    for (int64_t i = group.lane(); i < sets.set_size; i += group.size()) {
      const ImageCell cell = sets.Element(set, i);
      const W z = (W(x[cell]) - mean) * inverse;
      const W value = (gamma[cell.channel] * W(dy[cell]) - sum - z * product) * inverse;
      dx[cell] = T(accumulate ? W(dx[cell]) + value : value);
    }
  }
};

class GroupNormGpu : public GroupNorm {
 public:
  GroupNormGpu(const GpuRunner& runner, const GroupNormSpec& spec) : runner_(runner), spec_(spec) {}

  absl::Status Forward(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                       const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(CheckGroupNorm(spec_, runner_.device(), x, {&y}, {&gamma, &beta}));
    const GroupSets sets = GroupSets::Of(spec_, x);
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      return runner_.ForEachRow(
          "group norm", sets.count(),
          GroupNormForwardBody<T>{sets, View<const T>(x), gamma.data<Wide<T>>(),
                                  beta.data<Wide<T>>(), View<T>(y)});
    });
  }

  size_t workspace_bytes() const override {
    return size_t(2 * spec_.batch * spec_.sets_per_image()) * SizeOf(WideOf(spec_.dtype));
  }

  absl::Status Backward(const Tensor& x, const Tensor& dy, const Tensor& gamma, const Tensor& dx,
                        bool accumulate, const Tensor& dgamma, const Tensor& dbeta,
                        Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(CheckGroupNormBackward(spec_, runner_.device(), x, dy, gamma, dx, dgamma,
                                                dbeta, workspace, workspace_bytes()));
    const GroupSets sets = GroupSets::Of(spec_, x);
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) -> absl::Status {
      auto* const moments = reinterpret_cast<Wide<T>*>(workspace.data());
      DTNN_RETURN_IF_ERROR(
          runner_.ForEachRow("group norm's moments", sets.count(),
                             GroupNormMomentsBody<T>{sets, View<const T>(x), moments}));
      if (!dgamma.empty()) {
        DTNN_RETURN_IF_ERROR(runner_.ForEachRow(
            "group norm's channels", spec_.channels,
            GroupNormChannelBody<T>{sets, View<const T>(x), View<const T>(dy), moments,
                                    dgamma.data<Wide<T>>(), dbeta.data<Wide<T>>()}));
      }
      if (dx.empty()) return absl::OkStatus();
      return runner_.ForEachRow(
          "group norm's gradient", sets.count(),
          GroupNormDataBody<T>{sets, accumulate, View<const T>(x), View<const T>(dy),
                               gamma.data<Wide<T>>(), moments, View<T>(dx)});
    });
  }

 private:
  template <typename T>
  ImageView<T> View(const Tensor& tensor) const {
    return ImageView<T>::Of(tensor, spec_.format);
  }

  GpuRunner runner_;
  const GroupNormSpec spec_;
};

absl::StatusOr<std::unique_ptr<GroupNorm>> CreateGroupNormGpu(DeviceContext& context,
                                                              const GroupNormSpec& spec) {
  return std::make_unique<GroupNormGpu>(GpuRunner(context), spec);
}

}  // namespace dtnn
