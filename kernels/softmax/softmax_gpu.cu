#include <cmath>
#include <type_traits>

#include "kernels/elementwise/grid_gpu.h"
#include "kernels/gpu/runner.h"
#include "kernels/softmax/check.h"
#include "kernels/softmax/softmax_gpu.h"
#include "tensor/status_macros.h"

namespace dtnn {

// The maximum of a row.
template <typename T, class Group>
DTNN_HOST_DEVICE Wide<T> RowMaximum(const T* x, int64_t columns, Group group) {
  using W = Wide<T>;
  W max = W(x[0]);
  for (int64_t j = group.lane(); j < columns; j += group.size()) {
    max = max < W(x[j]) ? W(x[j]) : max;
  }
  return group.Max(max);
}

// y = e^(x - max), unless it has 16 bits; the sum of these. y may be x.
template <typename T, typename R, class Group>
DTNN_HOST_DEVICE Wide<T> RowExponentials(const T* x, Wide<T> max, R* y, int64_t columns,
                                         Group group) {
  Wide<T> sum = 0;
  for (int64_t j = group.lane(); j < columns; j += group.size()) {
    const Wide<T> e = std::exp(Wide<T>(x[j]) - max);
    if constexpr (std::is_same_v<R, Wide<T>>) y[j] = e;
    sum += e;
  }
  return group.Sum(sum);
}

// Elements are of type T, results of type R.
template <typename T, typename R>
struct SoftmaxForwardBody {
  using W = Wide<T>;
  int64_t columns;
  GridView<const T> x;
  GridView<R> y;

  void Declare(int64_t rows, gpu::Accesses& accesses) {
    x.Declare({rows, columns}, accesses);
    y.Declare({rows, columns}, accesses);
  }
  template <class Group>
  DTNN_HOST_DEVICE void operator()(int64_t row, Group group) const {
    const T* from = &x[{row, 0}];
    R* to = &y[{row, 0}];
    const W max = RowMaximum(from, columns, group);
    group.Sync();  // y may be x, and x[0] is everybody's
    const W factor = 1 / RowExponentials(from, max, to, columns, group);
    for (int64_t j = group.lane(); j < columns; j += group.size()) {
      if constexpr (std::is_same_v<R, W>) {
        to[j] *= factor;
      } else {
        to[j] = R(std::exp(W(from[j]) - max) * factor);
      }
    }
  }
};

template <typename T, typename R>
struct SoftmaxBackwardBody {
  using W = Wide<T>;
  int64_t columns;
  bool accumulate;
  GridView<const R> y, dy;
  GridView<T> dx;

  void Declare(int64_t rows, gpu::Accesses& accesses) {
    y.Declare({rows, columns}, accesses);
    dy.Declare({rows, columns}, accesses);
    dx.Declare({rows, columns}, accesses);
  }
  template <class Group>
  DTNN_HOST_DEVICE void operator()(int64_t row, Group group) const {
    W dot = 0;
    for (int64_t j = group.lane(); j < columns; j += group.size())
      dot += W(y[{row, j}]) * W(dy[{row, j}]);
    dot = group.Sum(dot);
    for (int64_t j = group.lane(); j < columns; j += group.size()) {
      const W gradient = W(y[{row, j}]) * (W(dy[{row, j}]) - dot);
      T& to = dx[{row, j}];
      to = T(accumulate ? W(to) + gradient : gradient);
    }
  }
};

template <typename T>
struct SoftmaxCrossEntropyBody {
  using W = Wide<T>;
  int64_t columns;
  W gradient_scale;
  const float* loss_scale;  // null: 1
  double smoothing;
  double least, most;  // the clip of the probability, as bounds of the loss
  const int32_t* labels;
  GridView<const T> x;
  GridView<W> y;
  W* losses;
  GridView<T> dx;  // data is null where only the loss is wanted

  void Declare(int64_t rows, gpu::Accesses& accesses) {
    x.Declare({rows, columns}, accesses);
    y.Declare({rows, columns}, accesses);
    dx.Declare({rows, columns}, accesses);
    accesses.Reads(labels, rows);
    accesses.Writes(losses, rows);
    accesses.Reads(loss_scale, 1);
  }
  template <class Group>
  DTNN_HOST_DEVICE void operator()(int64_t row, Group group) const {
    const T* from = &x[{row, 0}];
    W* to = &y[{row, 0}];
    const int64_t label = labels[row];
    const W max = RowMaximum(from, columns, group);
    const double distance = double(max) - double(from[label]);
    W distances = 0;
    if (smoothing != 0) {
      for (int64_t j = group.lane(); j < columns; j += group.size()) distances += max - W(from[j]);
      distances = group.Sum(distances);
    }
    group.Sync();  // y or dx may overwrite x
    const W sum = RowExponentials(from, max, to, columns, group);
    if (group.lane() == 0) {
      const double log_sum = std::log(double(sum)), one = log_sum + distance;
      const double clipped = one < least ? least : (one > most ? most : one);  // a NaN passes
      const double all = log_sum + double(distances) / double(columns);
      losses[row] = W(smoothing == 0 ? clipped : (1 - smoothing) * clipped + smoothing * all);
    }
    const W factor = 1 / sum, label_share = W(1 - smoothing);
    const W everywhere = W(smoothing / double(columns));
    const W scale = loss_scale == nullptr ? gradient_scale : gradient_scale * W(*loss_scale);
    for (int64_t j = group.lane(); j < columns; j += group.size()) {
      to[j] *= factor;
      if (dx.data == nullptr) continue;
      dx[{row, j}] = T((to[j] - (j == label ? label_share : W(0)) - everywhere) * scale);
    }
  }
};

// Matrices have no other format.
template <typename T>
GridView<T> RowsIn(const SoftmaxSpec& spec, const Tensor& x) {
  return ViewIn<T>({x.shape()[0], spec.columns}, x, TensorFormat::kNHWC);
}

class SoftmaxGpu : public Softmax {
 public:
  SoftmaxGpu(const GpuRunner& runner, const SoftmaxSpec& spec) : runner_(runner), spec_(spec) {}

  absl::Status Forward(const Tensor& x, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(CheckSoftmax("softmax", spec_, runner_.device(), {&x}, {&y}));
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      const auto run = [&]<typename R>(R) {
        return runner_.ForEachRow("softmax", x.shape()[0],
                                  SoftmaxForwardBody<T, R>{spec_.columns, RowsIn<const T>(spec_, x),
                                                           RowsIn<R>(spec_, y)});
      };
      return spec_.narrow_result ? run(T{}) : run(Wide<T>{});
    });
  }

  absl::Status Backward(const Tensor& y, const Tensor& dy, const Tensor& dx,
                        bool accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckSoftmax("softmax", spec_, runner_.device(), {&dx}, {&y, &dy}));
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      const auto run = [&]<typename R>(R) {
        return runner_.ForEachRow(
            "softmax", y.shape()[0],
            SoftmaxBackwardBody<T, R>{spec_.columns, accumulate, RowsIn<const R>(spec_, y),
                                      RowsIn<const R>(spec_, dy), RowsIn<T>(spec_, dx)});
      };
      return spec_.narrow_result ? run(T{}) : run(Wide<T>{});
    });
  }

 private:
  GpuRunner runner_;
  SoftmaxSpec spec_;
};

class SoftmaxCrossEntropyGpu : public SoftmaxCrossEntropy {
 public:
  SoftmaxCrossEntropyGpu(const GpuRunner& runner, const SoftmaxSpec& spec)
      : runner_(runner), spec_(spec) {}

  absl::Status Run(const Tensor& x, const Tensor& labels, const Tensor& y, const Tensor& losses,
                   const Tensor& dx, const GradientScale& scale) override {
    DTNN_RETURN_IF_ERROR(
        CheckSoftmaxCrossEntropy(spec_, runner_.device(), x, labels, y, losses, dx, scale));
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      const GridView<T> gradient = dx.empty() ? GridView<T>{nullptr, 0} : RowsIn<T>(spec_, dx);
      return runner_.ForEachRow(
          kName, x.shape()[0],
          SoftmaxCrossEntropyBody<T>{
              spec_.columns, Wide<T>(scale.factor),
              scale.on_device.empty() ? nullptr : scale.on_device.data<float>(),
              spec_.label_smoothing, -std::log1p(-1e-8), -std::log(1e-8), labels.data<int32_t>(),
              RowsIn<const T>(spec_, x), RowsIn<Wide<T>>(spec_, y), losses.data<Wide<T>>(),
              gradient});
    });
  }

 private:
  static constexpr std::string_view kName = "softmax cross entropy";

  GpuRunner runner_;
  SoftmaxSpec spec_;
};

absl::StatusOr<std::unique_ptr<Softmax>> CreateSoftmaxGpu(DeviceContext& context,
                                                          const SoftmaxSpec& spec) {
  return std::make_unique<SoftmaxGpu>(GpuRunner(context), spec);
}

absl::StatusOr<std::unique_ptr<SoftmaxCrossEntropy>> CreateSoftmaxCrossEntropyGpu(
    DeviceContext& context, const SoftmaxSpec& spec) {
  return std::make_unique<SoftmaxCrossEntropyGpu>(GpuRunner(context), spec);
}

}  // namespace dtnn
