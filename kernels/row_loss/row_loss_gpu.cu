#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/elementwise/grid_gpu.h"
#include "kernels/gpu/runner.h"
#include "kernels/operands/operand.h"
#include "kernels/row_loss/row_loss_gpu.h"
#include "kernels/transfers/transfers.h"
#include "tensor/errors.h"

namespace dtnn {

// Bounds of probabilities in logarithms.
inline constexpr double kLeastProbability = 1e-8;

DTNN_HOST_DEVICE inline double Clamp(double x, double least, double most) {
  return x < least ? least : (x > most ? most : x);  // a NaN passes
}

template <typename T>
struct RowTargets {
  const int32_t* classes;  // null: values
  GridView<const T> values;

  void Declare(int64_t rows, int64_t columns, gpu::Accesses& accesses) {
    accesses.Reads(classes, rows);
    values.Declare({rows, columns}, accesses);
  }
  DTNN_HOST_DEVICE double At(int64_t row, int64_t column) const {
    return classes != nullptr ? double(classes[row] == column) : double(values[{row, column}]);
  }
};

// What every kind works on. `P`: the type of probabilities.
template <typename T, typename P = T>
struct RowLossArguments {
  using W = Wide<T>;
  int64_t columns;
  double gradient_scale, smoothing;
  const float* loss_scale;      // null: 1
  const double* class_weights;  // null: all 1
  RowTargets<W> targets;
  GridView<const T> x;
  W* losses;
  GridView<P> probabilities;  // data is null where they are not wanted
  GridView<T> dx;             // likewise

  void Declare(int64_t rows, gpu::Accesses& accesses) {
    targets.Declare(rows, columns, accesses);
    x.Declare({rows, columns}, accesses);
    accesses.Writes(losses, rows);
    probabilities.Declare({rows, columns}, accesses);
    dx.Declare({rows, columns}, accesses);
    accesses.Reads(loss_scale, 1);
    accesses.Reads(class_weights, columns);
  }
  DTNN_HOST_DEVICE double WeightOf(int64_t column) const {
    return class_weights == nullptr ? 1 : class_weights[column];
  }
  // The parts of a target of kCategorical.
  DTNN_HOST_DEVICE double Share(int64_t row, int64_t column) const {
    return (1 - smoothing) * targets.At(row, column) * WeightOf(column);
  }
  DTNN_HOST_DEVICE double Everywhere(int64_t column) const {
    return smoothing / double(columns) * WeightOf(column);
  }
  DTNN_HOST_DEVICE double X(int64_t row, int64_t column) const {
    return double(W(x[{row, column}]));
  }
  template <class Group>
  DTNN_HOST_DEVICE void PutLoss(int64_t row, double share, Group group) const {
    const double loss = group.Sum(share);
    if (group.lane() == 0) losses[row] = W(loss);
  }
  DTNN_HOST_DEVICE void PutGradient(int64_t row, int64_t column, double gradient) const {
    if (dx.data == nullptr) return;
    const double scale = loss_scale == nullptr ? 1 : double(*loss_scale);
    dx[{row, column}] = T(W(gradient_scale * gradient * scale));
  }
};

template <typename T>
struct RegressionBody {
  RowLossArguments<T> arguments;
  bool squared;

  void Declare(int64_t rows, gpu::Accesses& accesses) { arguments.Declare(rows, accesses); }
  template <class Group>
  DTNN_HOST_DEVICE void operator()(int64_t row, Group group) const {
    const double outputs = double(arguments.columns);
    double sum = 0;
    for (int64_t j = group.lane(); j < arguments.columns; j += group.size()) {
      const double error = arguments.X(row, j) - arguments.targets.At(row, j);
      sum += squared ? error * error : std::fabs(error);
      const double slope = squared ? 2 * error : double((error > 0) - (error < 0));
      arguments.PutGradient(row, j, slope / outputs);
    }
    arguments.PutLoss(row, sum / outputs, group);
  }
};

template <typename T>
struct BinaryBody {
  using W = Wide<T>;
  RowLossArguments<T> arguments;
  bool from_logits;

  void Declare(int64_t rows, gpu::Accesses& accesses) { arguments.Declare(rows, accesses); }
  template <class Group>
  DTNN_HOST_DEVICE void operator()(int64_t row, Group group) const {
    double sum = 0;
    for (int64_t j = group.lane(); j < arguments.columns; j += group.size()) {
      const double x = arguments.X(row, j);
      const double t =
          (1 - arguments.smoothing) * arguments.targets.At(row, j) + arguments.smoothing / 2;
      if (!from_logits) {
        const double p = Clamp(x, kLeastProbability, 1 - kLeastProbability);
        sum += -t * std::log(p) - (1 - t) * std::log1p(-p);
        arguments.PutGradient(row, j, (1 - t) / (1 - p) - t / p);
        continue;
      }
      // -log p and -log(1 - p) are softplus(-x) and softplus(x).
      const double least = -std::log1p(-kLeastProbability), most = -std::log(kLeastProbability);
      const double e = std::exp(-std::fabs(x)), log = std::log1p(e);
      sum += t * Clamp(log + (x < 0 ? -x : 0), least, most) +
             (1 - t) * Clamp(log + (x > 0 ? x : 0), least, most);
      const double p = (x < 0 ? e : 1) / (1 + e);
      arguments.probabilities[{row, j}] = T(W(p));
      arguments.PutGradient(row, j, p - t);
    }
    arguments.PutLoss(row, sum, group);
  }
};

template <typename T>
struct CategoricalBody {
  RowLossArguments<T> arguments;

  void Declare(int64_t rows, gpu::Accesses& accesses) { arguments.Declare(rows, accesses); }
  template <class Group>
  DTNN_HOST_DEVICE void operator()(int64_t row, Group group) const {
    double sum = 0;
    for (int64_t j = group.lane(); j < arguments.columns; j += group.size()) {
      const double target = arguments.Share(row, j) + arguments.Everywhere(j);
      const double p = Clamp(arguments.X(row, j), kLeastProbability, 1 - kLeastProbability);
      if (target != 0) sum -= target * std::log(p);
      arguments.PutGradient(row, j, target == 0 ? 0 : -target / p);
    }
    arguments.PutLoss(row, sum, group);
  }
};

template <typename T>
struct CategoricalLogitsBody {
  using W = Wide<T>;
  RowLossArguments<T, W> arguments;

  void Declare(int64_t rows, gpu::Accesses& accesses) { arguments.Declare(rows, accesses); }
  template <class Group>
  DTNN_HOST_DEVICE void operator()(int64_t row, Group group) const {
    const int64_t columns = arguments.columns;
    double largest = arguments.X(row, 0);
    for (int64_t j = group.lane(); j < columns; j += group.size()) {
      const double x = arguments.X(row, j);
      largest = largest < x ? x : largest;
    }
    largest = group.Max(largest);
    double exponentials = 0;
    for (int64_t j = group.lane(); j < columns; j += group.size()) {
      exponentials += std::exp(arguments.X(row, j) - largest);
    }
    // All lanes have read x[0] by now: results may overwrite x, each lane its own columns.
    const double log_sum = largest + std::log(group.Sum(exponentials));
    double total = 1;  // of the target
    if (arguments.class_weights != nullptr) {
      double weights = 0;
      for (int64_t j = group.lane(); j < columns; j += group.size()) {
        weights += arguments.Share(row, j) + arguments.Everywhere(j);
      }
      total = group.Sum(weights);
    }
    double sum = 0;
    for (int64_t j = group.lane(); j < columns; j += group.size()) {
      const double log_p = arguments.X(row, j) - log_sum, p = std::exp(log_p);
      const double share = arguments.Share(row, j), everywhere = arguments.Everywhere(j);
      if (share > 0) {
        sum -= share * Clamp(log_p, std::log(kLeastProbability), std::log1p(-kLeastProbability));
      }
      if (everywhere != 0) sum -= everywhere * log_p;
      arguments.probabilities[{row, j}] = W(p);
      arguments.PutGradient(row, j, total * p - share - everywhere);
    }
    arguments.PutLoss(row, sum, group);
  }
};

class RowLossGpu : public RowLoss {
 public:
  RowLossGpu(const GpuRunner& runner, const RowLossSpec& spec, Tensor class_weights)
      : runner_(runner), spec_(spec), class_weights_(std::move(class_weights)) {}

  absl::Status Run(const Tensor& x, const Tensor& targets, const Tensor& probabilities,
                   const Tensor& losses, const Tensor& dx, const GradientScale& scale) override {
    DTNN_RETURN_IF_ERROR(Check(x, targets, probabilities, losses, dx));
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      using W = Wide<T>;
      const int64_t rows = x.shape()[0];
      switch (spec_.kind) {
        case RowLossKind::kSquared:
        case RowLossKind::kAbsolute:
          return runner_.ForEachRow(
              kName, rows,
              RegressionBody<T>{Arguments<T, T>(x, targets, probabilities, losses, dx, scale),
                                spec_.kind == RowLossKind::kSquared});
        case RowLossKind::kBinary:
          return runner_.ForEachRow(
              kName, rows,
              BinaryBody<T>{Arguments<T, T>(x, targets, probabilities, losses, dx, scale),
                            spec_.from_logits});
        case RowLossKind::kCategorical:
          break;
      }
      if (!spec_.from_logits) {
        return runner_.ForEachRow(
            kName, rows,
            CategoricalBody<T>{Arguments<T, T>(x, targets, probabilities, losses, dx, scale)});
      }
      return runner_.ForEachRow(
          kName, rows,
          CategoricalLogitsBody<T>{Arguments<T, W>(x, targets, probabilities, losses, dx, scale)});
    });
  }

 private:
  static constexpr std::string_view kName = "row loss";

  template <typename T, typename P>
  RowLossArguments<T, P> Arguments(const Tensor& x, const Tensor& targets,
                                   const Tensor& probabilities, const Tensor& losses,
                                   const Tensor& dx, const GradientScale& scale) const {
    using W = Wide<T>;
    const bool classes = targets.dtype() == DType::kInt32;
    return {spec_.columns,
            scale.factor,
            spec_.label_smoothing,
            scale.on_device.empty() ? nullptr : scale.on_device.data<float>(),
            class_weights_.empty() ? nullptr : class_weights_.data<double>(),
            {classes ? targets.data<int32_t>() : nullptr,
             classes ? GridView<const W>{nullptr, 0} : Rows<const W>(targets)},
            Rows<const T>(x),
            losses.data<W>(),
            spec_.from_logits ? Rows<P>(probabilities) : GridView<P>{nullptr, 0},
            dx.empty() ? GridView<T>{nullptr, 0} : Rows<T>(dx)};
  }
  template <typename T>
  GridView<T> Rows(const Tensor& matrix) const {
    return ViewIn<T>({matrix.shape()[0], spec_.columns}, matrix, TensorFormat::kNHWC);
  }
  absl::Status Check(const Tensor& x, const Tensor& targets, const Tensor& probabilities,
                     const Tensor& losses, const Tensor& dx) const {
    const auto check = [&](std::string_view name, const Tensor& tensor, DType dtype,
                           const Shape& shape, Pitch pitch) {
      return CheckOperand(kName, name, tensor, runner_.device(), dtype, shape, pitch);
    };
    const DType wide = WideOf(spec_.dtype);
    const Shape rows{x.shape()[0]}, matrix{x.shape()[0], spec_.columns};
    DTNN_RETURN_IF_ERROR(check("x", x, spec_.dtype, matrix, Pitch::kAllowed));
    DTNN_RETURN_IF_ERROR(targets.dtype() == DType::kInt32
                             ? check("classes", targets, DType::kInt32, rows, Pitch::kNone)
                             : check("targets", targets, wide, matrix, Pitch::kAllowed));
    if (spec_.from_logits) {
      DTNN_RETURN_IF_ERROR(check("probabilities", probabilities,
                                 spec_.kind == RowLossKind::kCategorical ? wide : spec_.dtype,
                                 matrix, Pitch::kAllowed));
    }
    if (!dx.empty()) DTNN_RETURN_IF_ERROR(check("dx", dx, spec_.dtype, matrix, Pitch::kAllowed));
    return check("losses", losses, wide, rows, Pitch::kNone);
  }

  GpuRunner runner_;
  RowLossSpec spec_;
  Tensor class_weights_;  // float64, on the device; empty where there are none
};

absl::StatusOr<std::unique_ptr<RowLoss>> CreateRowLossGpu(DeviceContext& context,
                                                          const RowLossSpec& spec) {
  if (!IsHalf(spec.dtype)) DTNN_RETURN_IF_ERROR(CheckFloating("row loss", spec.dtype));
  const bool has_logits =
      spec.kind == RowLossKind::kBinary || spec.kind == RowLossKind::kCategorical;
  if (spec.columns < 1 || (spec.from_logits && !has_logits) ||
      !(spec.label_smoothing >= 0 && spec.label_smoothing < 1)) {
    return InvalidArgument("row loss: ", spec.columns, " columns and a label smoothing of ",
                           spec.label_smoothing,
                           ", expected at least one and 0 <= s < 1, and logits of cross entropies "
                           "only");
  }
  Tensor weights;
  if (const int64_t count = int64_t(spec.class_weights.size()); count > 0) {
    if (count != spec.columns || spec.kind != RowLossKind::kCategorical) {
      return InvalidArgument("row loss: ", count, " class weights for ", spec.columns,
                             " columns, expected one for each, of the categorical one only");
    }
    DTNN_ASSIGN_OR_RETURN(const Tensor host,
                          Tensor::Allocate(Device::Cpu(), DType::kFloat64, Shape{count}));
    std::ranges::copy(spec.class_weights, host.data<double>());
    DTNN_ASSIGN_OR_RETURN(weights, ToDevice(context, host));
  }
  return std::make_unique<RowLossGpu>(GpuRunner(context), spec, std::move(weights));
}

}  // namespace dtnn
