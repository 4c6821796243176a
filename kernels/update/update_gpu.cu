#include <cmath>
#include <utility>

#include "kernels/elementwise/operands.h"
#include "kernels/gpu/runner.h"
#include "kernels/transfers/device_numbers.h"
#include "kernels/update/average_decay.h"
#include "kernels/update/check.h"
#include "kernels/update/update_gpu.h"
#include "tensor/status_macros.h"

namespace dtnn {

// What of a step is in the device's memory. The last three follow from the number of the step: the
// corrections are 1 / (1 - beta^step), the average's rest is 1 - d_t (update.h).
enum class UpdateNumber : uint8_t {
  kRate,
  kGradientScale,
  kStep,
  kCorrection1,
  kCorrection2,
  kAverageRest
};
inline constexpr int kUpdateNumbers = 6, kOfStep = 3;

// The bounds of UpdateArena below on the host; empty where nothing is spared from decay.
inline absl::StatusOr<Tensor> DecayBounds(const UpdateSpec& spec) {
  const int64_t count = int64_t(spec.without_decay.size()) * 2;
  if (count == 0 || spec.decay == 0) return Tensor();
  DTNN_ASSIGN_OR_RETURN(Tensor bounds, Tensor::Zeros(DType::kInt64, Shape{count}));
  int64_t* bound = bounds.data<int64_t>();
  for (const ArenaRange& range : spec.without_decay) {
    *bound++ = range.begin;
    *bound++ = range.end;
  }
  return bounds;
}

// The operands and constants of a pass, and what all rules do with them: parameter i follows the
// direction that its rule makes of the gradient.
template <typename T>
struct UpdateArena {
  // The numbers of the step: see UpdateNumber.
  const double* numbers;
  const int32_t* closed;  // null: open
  const double* factor;   // null: 1
  const double* of_step;  // the last kOfStep of them without skipped steps; null: the same
  T decay;
  T* w;
  const T* g;
  T *first, *second, *average;  // null where there is no such slot
  // Ends of the ranges that do not decay: begin, end, begin, end, ...
  const int64_t* bounds;
  int64_t bound_count;

  void Declare(int64_t n, gpu::Accesses& accesses) {
    accesses.Writes(w, n);
    accesses.Reads(g, n);
    accesses.Writes(first, n);
    accesses.Writes(second, n);
    accesses.Writes(average, n);
    accesses.Reads(bounds, bound_count);
    accesses.Reads(numbers, int64_t(kUpdateNumbers));
    accesses.Reads(closed, 1);
    accesses.Reads(factor, 1);
    accesses.Reads(of_step, kOfStep);
  }
  DTNN_HOST_DEVICE T OfStep(UpdateNumber number) const {
    constexpr int kFirst = int(UpdateNumber::kCorrection1);
    return of_step != nullptr ? T(of_step[int(number) - kFirst]) : Number(number);
  }
  DTNN_HOST_DEVICE bool Closed() const { return closed != nullptr && *closed != 0; }
  DTNN_HOST_DEVICE T Number(UpdateNumber number) const { return T(numbers[int(number)]); }
  // Whether an even number of bounds is at or before i.
  DTNN_HOST_DEVICE bool Decays(int64_t i) const {
    int64_t low = 0, high = bound_count;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (bounds[middle] <= i) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low % 2 == 0;
  }
  DTNN_HOST_DEVICE T Gradient(int64_t i) const {
    const double scale = numbers[int(UpdateNumber::kGradientScale)];
    return T(factor == nullptr ? scale : scale * *factor) * g[i];
  }
  DTNN_HOST_DEVICE void Follow(int64_t i, T direction) const {
    w[i] -= Number(UpdateNumber::kRate) * ((Decays(i) ? decay : T(0)) * w[i] + direction);
    if (average != nullptr) average[i] += OfStep(UpdateNumber::kAverageRest) * (w[i] - average[i]);
  }
};

// The numbers that follow from that of a step which does not count skipped ones.
struct OfStepBody {
  const double* numbers;
  const int64_t* skipped;
  double beta1, beta2, average_decay;
  double* to;

  void Declare(int64_t, gpu::Accesses& accesses) {
    accesses.Reads(numbers, kUpdateNumbers);
    accesses.Reads(skipped, 1);
    accesses.Writes(to, kOfStep);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const double step = numbers[int(UpdateNumber::kStep)] - double(*skipped);
    to[i] = i == 2 ? 1 - AverageDecay(average_decay, step)
                   : 1 / (1 - std::pow(i == 0 ? beta1 : beta2, step));
  }
};

template <typename T>
struct SgdBody {
  UpdateArena<T> arena;
  T momentum;
  bool nesterov;

  void Declare(int64_t n, gpu::Accesses& accesses) { arena.Declare(n, accesses); }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    if (arena.Closed()) return;
    const T g = arena.Gradient(i);
    if (arena.first == nullptr) return arena.Follow(i, g);
    T& v = arena.first[i];
    v = momentum * v + g;
    arena.Follow(i, nesterov ? momentum * v + g : v);
  }
};

template <typename T>
struct RmspropBody {
  UpdateArena<T> arena;
  T rho, rest, epsilon;  // rest: 1 - rho

  void Declare(int64_t n, gpu::Accesses& accesses) { arena.Declare(n, accesses); }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    if (arena.Closed()) return;
    const T g = arena.Gradient(i);
    T& c = arena.first[i];
    c = rho * c + rest * (g * g);
    arena.Follow(i, g / std::sqrt(c + epsilon));
  }
};

template <typename T>
struct AdamBody {
  UpdateArena<T> arena;
  UpdateRule rule;
  T epsilon;
  T beta1, rest1, beta2, rest2;  // rest: 1 - beta

  void Declare(int64_t n, gpu::Accesses& accesses) { arena.Declare(n, accesses); }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    if (arena.Closed()) return;
    const T correction1 = arena.OfStep(UpdateNumber::kCorrection1);
    const T correction2 = arena.OfStep(UpdateNumber::kCorrection2);
    const T g = arena.Gradient(i), fresh = rest1 * g;
    T &m = arena.first[i], &v = arena.second[i];
    m = beta1 * m + fresh;
    v = beta2 * v + rest2 * (g * g);
    const T root = rule == UpdateRule::kAdamw ? std::sqrt(v * correction2) + epsilon
                                              : std::sqrt(v * correction2 + epsilon);
    const T ahead = rule == UpdateRule::kNadam ? m + fresh : m;
    arena.Follow(i, ahead * correction1 / root);
  }
};

// `bounds`: the ends of spec.without_decay on the runner's device, int64; empty without any.
class UpdateGpu : public Update {
 public:
  UpdateGpu(const GpuRunner& runner, const UpdateSpec& spec, const Tensor& bounds,
            DeviceNumbers numbers, const Tensor& of_step)
      : runner_(runner),
        spec_(spec),
        bounds_(bounds),
        numbers_(std::move(numbers)),
        of_step_(of_step) {}

  absl::Status SetStep(const UpdateStep& step) override {
    DTNN_RETURN_IF_ERROR(CheckStep(step));
    double numbers[kUpdateNumbers];
    numbers[int(UpdateNumber::kRate)] = step.learning_rate;
    numbers[int(UpdateNumber::kGradientScale)] = step.gradient_scale;
    numbers[int(UpdateNumber::kStep)] = double(step.step);
    numbers[int(UpdateNumber::kCorrection1)] = 1 / (1 - std::pow(spec_.beta1, double(step.step)));
    numbers[int(UpdateNumber::kCorrection2)] = 1 / (1 - std::pow(spec_.beta2, double(step.step)));
    numbers[int(UpdateNumber::kAverageRest)] =
        1 - AverageDecay(spec_.average_decay, double(step.step));
    return numbers_.Set<double>(numbers);
  }

  absl::Status Run(const Tensor& parameters, const Tensor& gradients, std::span<const Tensor> slots,
                   const UpdateGates& gates) override {
    DTNN_RETURN_IF_ERROR(CheckUpdate(spec_, runner_.device(), parameters, gradients, slots, gates));
    const bool corrects = !gates.skipped.empty() && (spec_.moments() == 2 || spec_.averages());
    if (corrects) {
      DTNN_RETURN_IF_ERROR(runner_.ForEach(
          "bias corrections", kOfStep,
          OfStepBody{numbers_.tensor().data<double>(), gates.skipped.data<int64_t>(), spec_.beta1,
                     spec_.beta2, spec_.average_decay, of_step_.data<double>()}));
    }
    return DispatchFloating(spec_.dtype, [&]<typename T>(T) {
      const UpdateArena<T> arena = {
          .numbers = numbers_.tensor().data<double>(),
          .closed = gates.closed.empty() ? nullptr : gates.closed.data<int32_t>(),
          .factor = gates.factor.empty() ? nullptr : gates.factor.data<double>(),
          .of_step = corrects ? of_step_.data<double>() : nullptr,
          .decay = T(spec_.decay),
          .w = parameters.data<T>(),
          .g = gradients.data<T>(),
          .first = spec_.moments() > 0 ? slots[0].data<T>() : nullptr,
          .second = spec_.moments() > 1 ? slots[1].data<T>() : nullptr,
          .average = spec_.averages() ? slots.back().data<T>() : nullptr,
          .bounds = bounds_.empty() ? nullptr : bounds_.data<int64_t>(),
          .bound_count = bounds_.empty() ? 0 : bounds_.num_elements(),
      };
      return RunTyped(arena, parameters.num_elements());
    });
  }

 private:
  template <typename T>
  absl::Status RunTyped(const UpdateArena<T>& arena, int64_t n) const {
    const T epsilon = T(spec_.epsilon);
    switch (spec_.rule) {
      case UpdateRule::kSgd:
        return runner_.ForEach("update", n, SgdBody<T>{arena, T(spec_.momentum), spec_.nesterov});
      case UpdateRule::kRmsprop:
        return runner_.ForEach("update", n,
                               RmspropBody<T>{arena, T(spec_.rho), T(1 - spec_.rho), epsilon});
      case UpdateRule::kAdam:
      case UpdateRule::kNadam:
      case UpdateRule::kAdamw:
        break;
    }
    return runner_.ForEach("update", n,
                           AdamBody<T>{arena, spec_.rule, epsilon, T(spec_.beta1),
                                       T(1 - spec_.beta1), T(spec_.beta2), T(1 - spec_.beta2)});
  }

  GpuRunner runner_;
  UpdateSpec spec_;
  Tensor bounds_;
  DeviceNumbers numbers_;
  Tensor of_step_;
};

absl::StatusOr<std::unique_ptr<Update>> CreateUpdateGpu(DeviceContext& context,
                                                        const UpdateSpec& spec) {
  DTNN_ASSIGN_OR_RETURN(Tensor bounds, DecayBounds(spec));
  if (!bounds.empty()) {
    DTNN_ASSIGN_OR_RETURN(Tensor device_bounds,
                          Tensor::Allocate(context.device(), DType::kInt64, bounds.shape()));
    DTNN_RETURN_IF_ERROR(context.Copy(bounds, device_bounds));
    DTNN_RETURN_IF_ERROR(context.Synchronize());
    bounds = device_bounds;
  }
  DTNN_ASSIGN_OR_RETURN(DeviceNumbers numbers,
                        DeviceNumbers::Create(context, DType::kFloat64, kUpdateNumbers));
  DTNN_ASSIGN_OR_RETURN(Tensor of_step,
                        Tensor::Allocate(context.device(), DType::kFloat64, Shape{kOfStep}));
  return std::make_unique<UpdateGpu>(GpuRunner(context), spec, bounds, std::move(numbers), of_step);
}

}  // namespace dtnn
