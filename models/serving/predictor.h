// Predictions with a trained network: a model that is loaded from a file (saved_model.h).
//
//   auto predictor = Predictor::Load("mine.safetensors");
//   auto answers = (*predictor)->Classify({"shoe.png"});
//   (*answers)[0].name, (*answers)[0].probability  // of a network of classes
//
// Results are those of the evaluation in training with that math mode, bit for bit: the same
// network, parameters, element type, preprocessing and kernels. The sizes in a file are compared
// with its contents and with the free memory before memory is allocated. CPU only.
//
// Threads may share a predictor: each reads its own images, and then one batch at a time is
// computed, by all threads that the caller's loops have (tensor/threads/parallel_for.h). For
// batches side by side, load one predictor per thread.

#ifndef DTNN_MODELS_SERVING_PREDICTOR_H_
#define DTNN_MODELS_SERVING_PREDICTOR_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "kernels/device/math_mode.h"
#include "layers/table/layer_table.h"
#include "models/parameters/parameter_store.h"
#include "models/parameters/weights.h"
#include "models/plan/plan.h"
#include "models/serving/image_input.h"
#include "models/serving/saved_model.h"
#include "tensor/files/array_file.h"
#include "tensor/tensor.h"

namespace dtnn {

struct PredictorOptions {
  int64_t batch = 32;  // the most samples at a time; memory grows with it, answers stay the same
  WeightsFormat weights_format = WeightsFormat::kAuto;  // of a file that does not tell
  // Of models of float32: fp32, as training evaluated them, or bf16, which is faster on CPUs with
  // instructions for it, and less exact (docs/precision.md).
  MathMode math_mode = MathMode::kFp32;
  // Computes in 8 bits: usually faster, and a little less exact. Needs a model that was quantized
  // (models/quantization/quantize.h), of NHWC images.
  bool int8 = false;
};

// Sets what a word of --math-mode says: fp32, bf16 or int8. False for any other word.
bool SetMathMode(std::string_view word, PredictorOptions& options);

// Puts sample `index` into row `row` of `x`; called by several threads at a time.
using FillSample = absl::FunctionRef<absl::Status(int64_t index, const Tensor& x, int64_t row)>;

// What the outputs of a network are.
enum class OutputKind : uint8_t {
  kClasses,  // probabilities of classes, of which a sample has one: the last layer is a softmax
  kLabels,   // probabilities of labels, each true or false by itself: a sigmoid
  // Quantities, such as those of a regression: another layer, or none; and the values of an image,
  // such as probabilities of the classes of its pixels.
  kValues,
};

struct Classification {
  std::string file = {};
  int64_t index = 0;                 // of the largest output: the likeliest class
  std::string name = {};             // its name; its index if it has none
  double probability = 0;            // that output; with OutputKind::kValues not a probability
  std::vector<double> outputs = {};  // all; with kLabels each above 0.5 is a label of the image
};

class Predictor {
 public:
  // From a file that contains the whole model. `layers`: those that its network may have.
  static absl::StatusOr<std::unique_ptr<Predictor>> Load(
      std::string_view path, const PredictorOptions& options = {},
      const LayerTable& layers = BuiltInLayers());
  // From a model that the caller describes, with the parameters of `file`.
  static absl::StatusOr<std::unique_ptr<Predictor>> Create(SavedModel model, ArrayFileReader& file,
                                                           const PredictorOptions& options = {});

  const SavedModel& model() const { return model_; }
  // Warnings about the file, a line each, naming it.
  const std::vector<std::string>& warnings() const { return warnings_; }
  // Plan::Algorithms.
  std::vector<std::string> Algorithms() const { return plan_->Algorithms(); }
  OutputKind output_kind() const;
  // The name of class `index`; its number if it has none.
  std::string ClassName(int64_t index) const;

  // One answer per file (JPEG, PNG), in their order. The first file that cannot be read, or whose
  // answer is not finite, is an error that names it.
  absl::StatusOr<std::vector<Classification>> Classify(const std::vector<std::string>& files);
  // The same with an answer or an error for each file.
  absl::StatusOr<std::vector<absl::StatusOr<Classification>>> ClassifyEach(
      std::span<const std::string> files);
  // The answer of row `row` of what Predict returned; messages name `file`.
  absl::StatusOr<Classification> ClassificationOf(const std::string& file, const Tensor& outputs,
                                                  int64_t row) const;

  // What they are made of. `x`: any number of samples as the network takes them, (n, sample) in
  // its format and element type. Result: (n, outputs), or (n, image).
  absl::StatusOr<Tensor> Predict(const Tensor& x);
  // The outputs of the samples begin to begin + n - 1, which `fill` makes. The first of them that
  // cannot be made is the error, and so is an output that is NaN or infinite.
  absl::StatusOr<Tensor> PredictFilled(int64_t begin, int64_t n, FillSample fill);
  // InvalidArgument for what Predict does not take.
  absl::Status CheckSamples(const Tensor& x) const;
  // Room for n samples.
  absl::StatusOr<Tensor> NewSamples(int64_t n) const;
  // Turns images into samples. InvalidArgument for a network that does not take images.
  absl::StatusOr<const ImageInput*> images() const;

 private:
  explicit Predictor(SavedModel model) : model_(std::move(model)) {}

  // One status for each of n samples from `begin` on.
  static std::vector<absl::Status> Fill(const Tensor& x, int64_t begin, FillSample fill);
  absl::Status Prepare(ArrayFileReader& file, const PredictorOptions& options);

  SavedModel model_;
  std::vector<std::string> warnings_;
  Int8Choice int8_;
  absl::StatusOr<ImageInput> images_ = absl::FailedPreconditionError("not prepared");
  std::unique_ptr<DeviceContext> context_;
  std::unique_ptr<ParameterStore> store_;
  std::mutex plan_mutex_;  // held while plan_ runs and its predictions are copied
  std::unique_ptr<Plan> plan_;
  int64_t batch_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_SERVING_PREDICTOR_H_
