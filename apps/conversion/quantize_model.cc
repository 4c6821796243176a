#include "apps/conversion/quantize_model.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "apps/conversion/quantize_samples.h"
#include "apps/program/other_file.h"
#include "comm/ranks/job/exit_code.h"
#include "models/parameters/weights.h"
#include "models/plan/plan.h"
#include "models/quantization/quantize.h"
#include "models/serving/saved_model.h"
#include "models/serving/saved_parameters.h"
#include "tensor/errors.h"
#include "tensor/files/array_file.h"
#include "tensor/stopwatch.h"

namespace dtnn {
namespace {

// Each of the two plans is timed for so long: one pass over a few samples would be noise.
constexpr double kLeastSeconds = 0.5;

// What a plan makes of samples, and how long all its passes over them took.
struct Answers {
  std::vector<int64_t> best;  // the output that is the largest, per sample
  double seconds = 0;
};

class ModelQuantizer {
 public:
  ModelQuantizer(const QuantizeFlags& flags, std::ostream& out) : flags_(flags), out_(out) {}

  absl::Status Run() {
    DTNN_RETURN_IF_ERROR(CheckWeightsOutput(flags_.out));  // before the work
    DTNN_RETURN_IF_ERROR(Load());
    DTNN_ASSIGN_OR_RETURN(const QuantizeSamples samples, ReadSamples(flags_, model_));
    const QuantizeOptions options = {.method = *ParseRangeMethod(flags_.method),
                                     .largest_error = flags_.largest_error,
                                     .batch = flags_.batch};
    DTNN_ASSIGN_OR_RETURN(const Quantized quantized,
                          WithContext(Quantize(model_.graph, *store_, *context_,
                                               samples.calibration, model_.preprocessing, options),
                                      flags_.model));
    PrintLayers(quantized);
    model_.quantization = quantized.record;
    DTNN_RETURN_IF_ERROR(Compare(samples));
    return SaveModel(flags_.out, model_, *store_, *context_);
  }

 private:
  absl::Status Load() {
    absl::StatusOr<ArrayFileReader> opened = ArrayFileReader::Open(flags_.model);
    absl::StatusOr<SavedModel> read = opened.ok() ? ReadModel(*opened) : opened.status();
    if (!read.ok()) {
      return NameOtherFile(read.status(), flags_.model, "quantize",
                           "a trained model (.npz, .safetensors)");
    }
    model_ = *std::move(read);
    if (model_.dtype != DType::kFloat32) {
      return InvalidArgument(flags_.model, ": has ", Name(model_.dtype),
                             " parameters; 8 bits are for models of float32");
    }
    if (model_.graph.format() != TensorFormat::kNHWC) {
      out_ << "The network of NCHW images becomes one of NHWC images.\n";
      DTNN_ASSIGN_OR_RETURN(model_.graph, Graph::FromNodes(model_.graph.name(), TensorFormat::kNHWC,
                                                           model_.graph.ToNodes()));
    }
    DTNN_ASSIGN_OR_RETURN(context_, DeviceContext::Create(Device::Cpu()));
    const PlanOptions plan = FloatPlan(flags_.batch);
    DTNN_ASSIGN_OR_RETURN(SavedParameters parameters,
                          ReadParameters(*opened, model_, *context_, {.plan = &plan}));
    store_ = std::move(parameters.store);
    return absl::OkStatus();
  }

  PlanOptions FloatPlan(int64_t batch) const {
    return {.batch = batch,
            .conv_variant = model_.description.conv_variant,
            .fusions = model_.description.fusions};
  }

  void PrintLayers(const Quantized& quantized) const {
    out_ << absl::StrFormat("%-28s %8s\n", "layer", "error");
    for (const Node& node : model_.graph.nodes()) {
      const auto error = quantized.errors.find(node.id);
      const auto kept = quantized.record.in_float.find(node.id);
      const bool in_float = kept != quantized.record.in_float.end();
      if (error == quantized.errors.end() && !in_float) continue;
      out_ << absl::StrFormat("%-28s %8s  %s\n", node.name,
                              error == quantized.errors.end()
                                  ? std::string()
                                  : absl::StrFormat("%.2f %%", 100 * error->second),
                              in_float ? StrCat("stays in float32: ", kept->second) : "int8");
    }
  }

  absl::Status Compare(const QuantizeSamples& samples) {
    const Int8Choice choice = model_.quantization->choice();
    PlanOptions options = FloatPlan(std::min(flags_.batch, samples.test.shape()[0]));
    DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<Plan> exact,
                          Plan::Compile(model_.graph, *store_, *context_, options));
    options.int8 = &choice;
    DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<Plan> bytes,
                          Plan::Compile(model_.graph, *store_, *context_, options));
    Answers of_exact, of_bytes;
    // Parameters are prepared, and memory is touched, in the first calls, which do not count.
    const Tensor first = samples.test.Samples(0, options.batch, model_.graph.format());
    DTNN_RETURN_IF_ERROR(exact->Forward(first));
    DTNN_RETURN_IF_ERROR(bytes->Forward(first));
    const int64_t n = samples.test.shape()[0];
    int64_t passes = 0;
    do {
      of_exact.best.clear();
      of_bytes.best.clear();
      for (int64_t begin = 0; begin < n; begin += options.batch) {
        const Tensor x =
            samples.test.Samples(begin, std::min(options.batch, n - begin), model_.graph.format());
        DTNN_RETURN_IF_ERROR(Answer(*exact, x, of_exact));
        DTNN_RETURN_IF_ERROR(Answer(*bytes, x, of_bytes));
      }
      ++passes;
    } while (std::min(of_exact.seconds, of_bytes.seconds) < kLeastSeconds);
    const double timed = double(passes) * double(n);
    PrintRow("", "accuracy", "samples/s", "");
    const double slow = of_exact.seconds, fast = of_bytes.seconds;
    PrintRow("float32", Accuracy(of_exact, samples.classes), Number(timed / slow), "");
    PrintRow("int8", Accuracy(of_bytes, samples.classes), Number(timed / fast),
             absl::StrFormat("%.2fx", slow / fast));
    int64_t same = 0;
    for (size_t i = 0; i < size_t(n); ++i) same += of_exact.best[i] == of_bytes.best[i];
    out_ << absl::StrFormat("%d samples, %.2f %% with the same best output", int(n),
                            100.0 * double(same) / double(n));
    out_ << (passes > 1 ? StrCat("; timed in ", passes, " passes over them\n") : "\n");
    return absl::OkStatus();
  }

  absl::Status Answer(Plan& plan, const Tensor& x, Answers& answers) const {
    const Stopwatch watch;
    DTNN_RETURN_IF_ERROR(plan.Forward(x));
    answers.seconds += watch.seconds();
    const int64_t outputs = model_.graph.output_shape().NumElements();
    for (int64_t i = 0; i < x.shape()[0]; ++i) {
      const float* const row = plan.predictions().data<float>() + i * outputs;
      answers.best.push_back(std::max_element(row, row + outputs) - row);
    }
    return absl::OkStatus();
  }

  static std::string Number(double value) { return absl::StrFormat("%.1f", value); }
  static std::string Accuracy(const Answers& answers, const std::vector<int32_t>& classes) {
    if (classes.empty()) return "-";
    int64_t right = 0;
    for (size_t i = 0; i < classes.size(); ++i) right += answers.best[i] == classes[i];
    return absl::StrFormat("%.2f %%", 100.0 * double(right) / double(classes.size()));
  }
  void PrintRow(std::string_view name, std::string_view accuracy, std::string_view speed,
                std::string_view ratio) const {
    out_ << absl::StrFormat("%-10s %10s %12s %8s\n", name, accuracy, speed, ratio);
  }

  const QuantizeFlags& flags_;
  std::ostream& out_;
  SavedModel model_;
  std::unique_ptr<DeviceContext> context_;
  std::unique_ptr<ParameterStore> store_;
};

}  // namespace

absl::Status QuantizeModel(const QuantizeFlags& flags, std::ostream& out) {
  return ModelQuantizer(flags, out).Run();
}

}  // namespace dtnn
