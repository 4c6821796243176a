#include "models/serving/predictor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include "models/serving/saved_parameters.h"
#include "tensor/dtype.h"
#include "tensor/errors.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {

bool SetMathMode(std::string_view word, PredictorOptions& options) {
  if (word != "fp32" && word != "bf16" && word != "int8") return false;
  options.math_mode = word == "bf16" ? MathMode::kBf16 : MathMode::kFp32;
  options.int8 = word == "int8";
  return true;
}

absl::StatusOr<std::unique_ptr<Predictor>> Predictor::Load(std::string_view path,
                                                           const PredictorOptions& options,
                                                           const LayerTable& layers) {
  DTNN_ASSIGN_OR_RETURN(ArrayFileReader file, ArrayFileReader::Open(path));
  DTNN_ASSIGN_OR_RETURN(SavedModel model, ReadModel(file, layers));
  return Create(std::move(model), file, options);
}

absl::StatusOr<std::unique_ptr<Predictor>> Predictor::Create(SavedModel model,
                                                             ArrayFileReader& file,
                                                             const PredictorOptions& options) {
  std::unique_ptr<Predictor> predictor(new Predictor(std::move(model)));
  DTNN_RETURN_IF_ERROR(predictor->Prepare(file, options));
  return predictor;
}

absl::Status Predictor::Prepare(ArrayFileReader& file, const PredictorOptions& options) {
  const Graph& graph = model_.graph;
  batch_ = options.batch;
  if (batch_ < 1) {
    return InvalidArgument("batches of ", batch_, " samples; expected 1 or more");
  }
  const int64_t names = int64_t(model_.description.class_names.size());
  const int64_t outputs = OutputsOf(graph);
  if (names > 0 && names != outputs) {
    return InvalidArgument("the model names ", names, " classes, but its network has ", outputs,
                           " outputs");
  }
  if (model_.preprocessing.input == Preprocessing::Input::kValues) {
    warnings_.push_back(
        StrCat(file.file(),
               ": was trained on values that were not bytes of images; images are converted "
               "to byte / 255 for it"));
  }
  images_ = ImageInput::Create(model_.preprocessing, ExtentsOf(graph.input_shape(), graph.format()),
                               graph.format());
  DTNN_ASSIGN_OR_RETURN(context_, DeviceContext::Create(Device::Cpu()));
  if (options.math_mode != MathMode::kFp32 && (options.int8 || model_.dtype != DType::kFloat32)) {
    return InvalidArgument("math mode ", Name(options.math_mode), " is for models of float32, not ",
                           options.int8 ? "for 8 bits" : Name(model_.dtype));
  }
  DTNN_RETURN_IF_ERROR(context_->SetMathMode(options.math_mode));
  PlanOptions plan = {.batch = batch_,
                      .conv_variant = model_.description.conv_variant,
                      .fusions = model_.description.fusions};
  if (options.int8) {
    if (!model_.quantization) {
      return FailedPrecondition(file.file(),
                                ": has no ranges of values, which 8 bits need; the program "
                                "quantize finds them");
    }
    DTNN_RETURN_IF_ERROR(
        WithContext(model_.quantization->CheckInput(graph, model_.preprocessing), file.file()));
    int8_ = model_.quantization->choice();
    plan.int8 = &int8_;
  }
  DTNN_ASSIGN_OR_RETURN(
      SavedParameters read,
      ReadParameters(file, model_, *context_, {.format = options.weights_format, .plan = &plan}));
  store_ = std::move(read.store);
  warnings_.insert(warnings_.end(), read.warnings.begin(), read.warnings.end());
  DTNN_ASSIGN_OR_RETURN(plan_, Plan::Compile(graph, *store_, *context_, plan));
  return absl::OkStatus();
}

OutputKind Predictor::output_kind() const {
  if (model_.graph.output_shape().rank() == 3) return OutputKind::kValues;
  const std::string_view last = model_.graph.nodes().back().layer->type_name();
  if (last == "Softmax") return OutputKind::kClasses;
  return last == "Sigmoid" ? OutputKind::kLabels : OutputKind::kValues;
}

std::string Predictor::ClassName(int64_t index) const {
  const std::vector<std::string>& names = model_.description.class_names;
  return index < int64_t(names.size()) && model_.graph.output_shape().rank() == 1
             ? names[size_t(index)]
             : StrCat(index);
}

absl::StatusOr<Tensor> Predictor::NewSamples(int64_t n) const {
  return Tensor::Zeros(model_.dtype, model_.graph.input_shape().Prepend(n));
}

absl::StatusOr<const ImageInput*> Predictor::images() const {
  DTNN_RETURN_IF_ERROR(images_.status());
  return &*images_;
}

absl::Status Predictor::CheckSamples(const Tensor& x) const {
  const Graph& graph = model_.graph;
  const int64_t n = x.empty() || x.shape().rank() == 0 ? 0 : x.shape()[0];
  if (n < 1 || x.dtype() != model_.dtype || x.shape() != graph.input_shape().Prepend(n)) {
    return InvalidArgument("model ", graph.name(), " takes one or more samples, (n, ...) of ",
                           graph.input_shape().ToString(), " and ", Name(model_.dtype),
                           x.empty()
                               ? "; there are none"
                               : StrCat(", not ", x.shape().ToString(), " of ", Name(x.dtype())));
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> Predictor::Predict(const Tensor& x) {
  DTNN_RETURN_IF_ERROR(CheckSamples(x));
  const Graph& graph = model_.graph;
  const int64_t n = x.shape()[0];
  const size_t bytes = size_t(graph.output_shape().NumElements()) * SizeOf(model_.dtype);
  DTNN_ASSIGN_OR_RETURN(Tensor outputs, Tensor::Allocate(Device::Cpu(), model_.dtype,
                                                         graph.output_shape().Prepend(n)));
  for (int64_t begin = 0; begin < n; begin += batch_) {
    const int64_t count = std::min(batch_, n - begin);
    const std::lock_guard lock(plan_mutex_);
    DTNN_RETURN_IF_ERROR(plan_->Forward(x.Samples(begin, count, graph.format())));
    std::memcpy(outputs.raw_data() + size_t(begin) * bytes, plan_->predictions().raw_data(),
                size_t(count) * bytes);
  }
  return outputs;
}

std::vector<absl::Status> Predictor::Fill(const Tensor& x, int64_t begin, FillSample fill) {
  const int64_t n = x.shape()[0];
  std::vector<absl::Status> filled(static_cast<size_t>(n));
  ParallelFor(0, n, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      try {  // an exception must not leave a thread of the loop
        filled[size_t(i)] = fill(begin + i, x, i);
      } catch (const std::bad_alloc&) {
        filled[size_t(i)] = absl::ResourceExhaustedError("out of memory");
      }
    }
  });
  return filled;
}

absl::StatusOr<Tensor> Predictor::PredictFilled(int64_t begin, int64_t n, FillSample fill) {
  DTNN_ASSIGN_OR_RETURN(const Tensor x, NewSamples(n));
  for (const absl::Status& status : Fill(x, begin, fill)) DTNN_RETURN_IF_ERROR(status);
  DTNN_ASSIGN_OR_RETURN(Tensor y, Predict(x));
  bool finite = true;
  DispatchFloating(y.dtype(), [&]<typename T>(T) {
    finite = std::ranges::all_of(std::span(y.data<T>(), size_t(y.num_elements())),
                                 [](T value) { return std::isfinite(value); });
  });
  if (finite) return y;
  return InvalidArgument("model ", model_.graph.name(), ": an output for one of the samples ",
                         begin, " to ", begin + n - 1,
                         " is NaN or infinite; are the samples, and their preprocessing, those of "
                         "its training?");
}

absl::StatusOr<Classification> Predictor::ClassificationOf(const std::string& file,
                                                           const Tensor& outputs,
                                                           int64_t row) const {
  Classification answer = {.file = file};
  DispatchFloating(outputs.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const int64_t count = model_.graph.output_shape().NumElements();
    const T* values = outputs.data<T>() + row * count;
    answer.outputs.assign(values, values + count);
  });
  if (!std::ranges::all_of(answer.outputs, [](double y) { return std::isfinite(y); })) {
    return InvalidArgument(file,
                           ": the network's output is NaN or infinite; are the weights, and the "
                           "preprocessing of images, those of its training?");
  }
  const auto best = std::ranges::max_element(answer.outputs);
  answer.index = best - answer.outputs.begin();
  answer.name = ClassName(answer.index);
  answer.probability = *best;
  return answer;
}

absl::StatusOr<std::vector<absl::StatusOr<Classification>>> Predictor::ClassifyEach(
    std::span<const std::string> files) {
  std::vector<absl::StatusOr<Classification>> answers;
  DTNN_ASSIGN_OR_RETURN(const ImageInput* const input, images());
  for (size_t begin = 0; begin < files.size(); begin += size_t(batch_)) {
    const int64_t n = std::min(batch_, int64_t(files.size() - begin));
    const auto batch = files.subspan(begin, size_t(n));
    DTNN_ASSIGN_OR_RETURN(const Tensor x, NewSamples(n));
    const std::vector<absl::Status> read =
        Fill(x, 0, [&](int64_t index, const Tensor& to, int64_t row) {
          return input->Read(batch[size_t(index)], to, row);
        });
    DTNN_ASSIGN_OR_RETURN(const Tensor outputs, Predict(x));
    for (size_t i = 0; i < batch.size(); ++i) {
      answers.push_back(read[i].ok() ? ClassificationOf(batch[i], outputs, int64_t(i)) : read[i]);
    }
  }
  return answers;
}

absl::StatusOr<std::vector<Classification>> Predictor::Classify(
    const std::vector<std::string>& files) {
  DTNN_ASSIGN_OR_RETURN(std::vector<absl::StatusOr<Classification>> each, ClassifyEach(files));
  std::vector<Classification> answers;
  for (absl::StatusOr<Classification>& answer : each) {
    DTNN_RETURN_IF_ERROR(answer.status());
    answers.push_back(*std::move(answer));
  }
  return answers;
}

}  // namespace dtnn
