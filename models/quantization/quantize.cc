#include "models/quantization/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "absl/strings/str_format.h"
#include "kernels/device/device_traits.h"
#include "kernels/int8/quantization.h"
#include "kernels/operands/operand.h"
#include "kernels/operands/rows.h"
#include "layers/int8/bind_int8.h"
#include "models/plan/plan.h"
#include "tensor/errors.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

// Samples on which layers are compared: their outputs are all kept.
constexpr int64_t kComparedSamples = 8;

class Quantizer {
 public:
  Quantizer(const Graph& graph, ParameterStore& store, DeviceContext& context,
            const Tensor& samples, const QuantizeOptions& options)
      : graph_(graph), store_(store), context_(context), samples_(samples), options_(options) {}

  absl::StatusOr<Quantized> Run(const Preprocessing& preprocessing) {
    DTNN_RETURN_IF_ERROR(CheckSamples());
    quantized_.record = {.method = std::string(Name(options_.method)),
                         .samples = samples_.shape()[0],
                         .input = graph_.input_shape().ToString(),
                         .preprocessing = ToJson(preprocessing)};
    DTNN_RETURN_IF_ERROR(FindRanges());
    KeepLast();
    DTNN_RETURN_IF_ERROR(KeepErrors());
    return std::move(quantized_);
  }

 private:
  const Node& node(int index) const { return graph_.nodes()[size_t(index)]; }

  absl::Status CheckSamples() const {
    if (!TraitsOf(context_.device()).in_host_memory) {
      return absl::InvalidArgumentError("8 bits are for inference on a CPU");
    }
    if (store_.dtype() != DType::kFloat32 || context_.math_mode() != MathMode::kFp32) {
      return absl::InvalidArgumentError("8 bits are for models of float32, computed in float32");
    }
    const int64_t n = samples_.empty() ? 0 : samples_.shape()[0];
    if (n == 0) {
      return absl::InvalidArgumentError("no samples to find ranges with; some hundreds are usual");
    }
    DTNN_RETURN_IF_ERROR(CheckOperand("quantization", "samples", samples_, Device::Cpu(),
                                      DType::kFloat32, graph_.input_shape().Prepend(n),
                                      Pitch::kNone));
    const int64_t size = graph_.input_shape().NumElements();
    const float* const values = samples_.data<float>();
    bool differ = false;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < size; ++j) {
        if (!std::isfinite(values[i * size + j])) {
          return InvalidArgument("sample ", i, " contains ", values[i * size + j]);
        }
      }
      differ |= std::memcmp(values, values + i * size, size_t(size) * sizeof(float)) != 0;
    }
    if (differ) return absl::OkStatus();
    return InvalidArgument(n == 1 ? "one sample is" : StrCat("all ", n, " samples are the same:"),
                           " too little to find ranges with; some hundreds that differ are usual");
  }

  // Calls use(index of the node, values) for all that the ops write, of all samples.
  template <class Use>
  absl::Status ForEachValue(Plan& plan, int64_t samples, const Use& use) {
    for (int64_t begin = 0; begin < samples; begin += options_.batch) {
      const int64_t count = std::min(options_.batch, samples - begin);
      DTNN_RETURN_IF_ERROR(plan.ForwardObserved(
          samples_.Samples(begin, count, graph_.format()),
          [&](int index, const Tensor& output) -> absl::Status {
            const Rows rows = RowsOf(output, graph_.format());
            for (int64_t row = 0; row < rows.rows; ++row) {
              const std::span<const float> values(output.data<float>() + row * rows.pitch,
                                                  size_t(rows.columns));
              DTNN_RETURN_IF_ERROR(use(index, values));
            }
            return absl::OkStatus();
          }));
    }
    return absl::OkStatus();
  }

  absl::Status FindRanges() {
    DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<Plan> plan,
                          Plan::Compile(graph_, store_, context_, {.batch = options_.batch}));
    std::map<int, RangeFinder> finders;
    const int64_t n = samples_.shape()[0];
    const std::span<const float> all(samples_.data<float>(), size_t(samples_.num_elements()));
    finders[0].Extend(all);
    DTNN_RETURN_IF_ERROR(ForEachValue(*plan, n, [&](int index, std::span<const float> values) {
      if (finders[index].Extend(values)) return absl::OkStatus();
      return InvalidArgument("layer ", node(index).id, " (", node(index).layer->type_name(),
                             "): its output for a sample contains NaN or infinity; are the weights "
                             "those of a trained network?");
    }));
    if (options_.method != RangeMethod::kMinMax) {
      finders[0].Count(all);
      DTNN_RETURN_IF_ERROR(ForEachValue(*plan, n, [&](int index, std::span<const float> values) {
        finders[index].Count(values);
        return absl::OkStatus();
      }));
    }
    for (const auto& [index, finder] : finders) {
      quantized_.record.ranges[node(index).id] = finder.Find(options_.method);
    }
    return absl::OkStatus();
  }

  // What stays in float32 whatever its error.
  void KeepLast() {
    if (!options_.last_in_float) return;
    for (size_t i = graph_.nodes().size(); i-- > 0;) {
      if (Int8FormOf(*node(int(i)).layer) != Int8Form::kProducts) continue;
      quantized_.record.in_float[node(int(i)).id] = "computes the network's output";
      return;
    }
  }

  absl::StatusOr<std::unique_ptr<Plan>> CompileInt8() {
    choice_ = quantized_.record.choice();
    return Plan::Compile(
        graph_, store_, context_,
        {.batch = std::min(samples_.shape()[0], kComparedSamples), .int8 = &choice_});
  }

  // Compares every layer, on inputs that are exact but for their own rounding to bytes.
  absl::Status KeepErrors() {
    const int64_t n = std::min(samples_.shape()[0], kComparedSamples);
    const Tensor x = samples_.Samples(0, n, graph_.format());
    DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<Plan> exact,
                          Plan::Compile(graph_, store_, context_, {.batch = n}));
    DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<Plan> bytes, CompileInt8());
    std::map<int, std::vector<float>> expected;
    DTNN_RETURN_IF_ERROR(exact->ForwardObserved(x, [&](int index, const Tensor& output) {
      std::vector<float>& values = expected[index];
      const Rows rows = RowsOf(output, graph_.format());
      for (int64_t row = 0; row < rows.rows; ++row) {
        const float* const from = output.data<float>() + row * rows.pitch;
        values.insert(values.end(), from, from + rows.columns);
      }
      return absl::OkStatus();
    }));
    const Int8Types& types = bytes->int8_types();
    std::map<int, double> errors;  // by the node that an op writes
    DTNN_RETURN_IF_ERROR(bytes->ForwardObserved(x, [&](int index, const Tensor& output) {
      errors[index] = Correct(output, types.values[size_t(index)], expected.at(index));
      return absl::OkStatus();
    }));
    for (const Fusion& fusion : FindFusions(graph_, Fusions(), /*additions=*/true)) {
      const int last = std::max({fusion.layer, fusion.normalization, fusion.addition, fusion.relu});
      if (errors.contains(last)) errors[fusion.layer] = errors.at(last);
    }
    for (const auto& [index, error] : errors) {
      if (!types.products[size_t(index)]) continue;
      quantized_.errors[node(index).id] = error;
      if (error <= options_.largest_error) continue;
      quantized_.record.in_float[node(index).id] =
          absl::StrFormat("differs by %.1f %% in 8 bits, more than %.1f %%", 100 * error,
                          100 * options_.largest_error);
    }
    return absl::OkStatus();
  }

  // How much an op's output differs, which then becomes what it should be.
  double Correct(const Tensor& output, const std::optional<Quantization>& q,
                 const std::vector<float>& expected) const {
    const Rows rows = RowsOf(output, graph_.format());
    std::vector<float> values(size_t(rows.columns), 0.0f);
    double difference = 0, power = 0;
    for (int64_t row = 0; row < rows.rows; ++row) {
      const float* const exact = expected.data() + row * rows.columns;
      if (q) {
        uint8_t* const at = output.data<uint8_t>() + row * rows.pitch;
        Dequantize(at, rows.columns, *q, values.data());
        dtnn::Quantize(exact, rows.columns, *q, at);
      } else {
        float* const at = output.data<float>() + row * rows.pitch;
        std::copy_n(at, rows.columns, values.data());
        std::copy_n(exact, rows.columns, at);
      }
      for (int64_t i = 0; i < rows.columns; ++i) {
        const double d = double(values[size_t(i)]) - double(exact[i]);
        difference += d * d;
        power += double(exact[i]) * double(exact[i]);
      }
    }
    return power == 0 ? (difference == 0 ? 0 : 1) : std::sqrt(difference / power);
  }

  const Graph& graph_;
  ParameterStore& store_;
  DeviceContext& context_;
  const Tensor& samples_;
  const QuantizeOptions& options_;
  Int8Choice choice_;
  Quantized quantized_;
};

}  // namespace

absl::StatusOr<Quantized> Quantize(const Graph& graph, ParameterStore& store,
                                   DeviceContext& context, const Tensor& samples,
                                   const Preprocessing& preprocessing,
                                   const QuantizeOptions& options) {
  return Quantizer(graph, store, context, samples, options).Run(preprocessing);
}

}  // namespace dtnn
