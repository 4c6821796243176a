#include "models/observe/tensorboard/tensorboard_writer.h"

#include <algorithm>
#include <ctime>

#include "data/images/encode_png.h"
#include "data/images/thumbnail.h"
#include "data/loading/batch_values.h"
#include "kernels/transfers/transfers.h"
#include "models/observe/tensorboard/graph_def.h"
#include "models/observe/tensorboard/histogram.h"
#include "tensor/errors.h"
#include "tensor/files/make_folder.h"

namespace dtnn {
namespace {

using BoardEvent = tensorboard::Event;
using tensorboard::Summary;

constexpr int kDouble = 2, kString = 7, kFloat = 1;
constexpr int kScalarData = 1, kTensorData = 2, kBlobData = 3;
constexpr int64_t kMostImages = 12, kMostPixels = 64;

absl::Status MakeRunFolder(std::string_view folder) {
  return MakeFolder(folder, StrCat(folder, ": is not a folder and cannot be created"));
}
std::string TrainFolder(std::string_view folder) { return StrCat(folder, "/train"); }
std::string ValidationFolder(std::string_view folder) { return StrCat(folder, "/validation"); }

Summary::Value& AddValue(std::string_view tag, std::string_view plugin, int data_class,
                         Summary& summary) {
  Summary::Value& value = *summary.add_value();
  value.set_tag(std::string(tag));
  value.mutable_metadata()->mutable_plugin_data()->set_plugin_name(std::string(plugin));
  value.mutable_metadata()->set_data_class(data_class);
  return value;
}

void AddScalar(std::string_view tag, double number, Summary& summary) {
  AddValue(tag, "scalars", kScalarData, summary).set_simple_value(float(number));
}

BoardEvent EventOf(Summary summary, int64_t step) {
  BoardEvent event;
  event.set_step(step);
  *event.mutable_summary() = std::move(summary);
  return event;
}

BoardEvent TextEvent(std::string_view text) {
  Summary summary;
  tensorboard::TensorContent& tensor =
      *AddValue("run/text_summary", "text", kTensorData, summary).mutable_tensor();
  tensor.set_dtype(kString);
  tensor.mutable_shape()->add_dim()->set_size(1);
  tensor.add_string_val(std::string(text));
  return EventOf(std::move(summary), 0);
}

BoardEvent HyperparameterEvent(
    const std::vector<std::pair<std::string, Hyperparameter>>& parameters) {
  tensorboard::HparamsPluginData data;
  tensorboard::SessionStartInfo& start = *data.mutable_session_start_info();
  start.set_start_time_secs(double(std::time(nullptr)));
  for (const auto& [name, parameter] : parameters) {
    tensorboard::HparamsValue& value = (*start.mutable_hparams())[name];
    if (const bool* flag = std::get_if<bool>(&parameter)) value.set_bool_value(*flag);
    if (const double* number = std::get_if<double>(&parameter)) value.set_number_value(*number);
    if (const auto* text = std::get_if<std::string>(&parameter)) value.set_string_value(*text);
  }
  Summary summary;
  Summary::Value& value = AddValue("_hparams_/session_start_info", "hparams", kTensorData, summary);
  value.mutable_metadata()->mutable_plugin_data()->set_content(data.SerializeAsString());
  value.mutable_tensor()->set_dtype(kFloat);
  value.mutable_tensor()->mutable_shape()->add_dim()->set_size(0);
  return EventOf(std::move(summary), 0);
}

// The first samples of a batch, side by side under one tag; nothing where they are not images.
Summary ImagesOf(const Tensor& x, TensorFormat format) {
  Summary summary;
  if (!HoldsImages(x)) return summary;
  tensorboard::TensorContent tensor;
  for (int64_t i = 0; i < std::min(x.shape()[0], kMostImages); ++i) {
    const Image image = Thumbnail(x, i, format, kMostPixels);
    const auto png = EncodePng(image);
    if (!png.ok()) return summary;
    if (i == 0) {
      tensor.add_string_val(StrCat(image.extents.width));
      tensor.add_string_val(StrCat(image.extents.height));
    }
    tensor.add_string_val(std::string(png->begin(), png->end()));
  }
  tensor.set_dtype(kString);
  tensor.mutable_shape()->add_dim()->set_size(tensor.string_val_size());
  *AddValue("samples", "images", kBlobData, summary).mutable_tensor() = std::move(tensor);
  return summary;
}

}  // namespace

absl::Status CheckTensorboardFolder(std::string_view folder) {
  DTNN_RETURN_IF_ERROR(MakeRunFolder(folder));
  DTNN_RETURN_IF_ERROR(CheckEventFolder(TrainFolder(folder)));
  return CheckEventFolder(ValidationFolder(folder));
}

absl::StatusOr<std::unique_ptr<TensorboardWriter>> TensorboardWriter::Create(
    TensorboardOptions options, const Trainer& trainer, const Graph& graph,
    const ParameterStore& store, DeviceContext& context) {
  std::unique_ptr<TensorboardWriter> writer(
      new TensorboardWriter(std::move(options), trainer, graph, store, context));
  DTNN_RETURN_IF_ERROR(writer->Open());
  DTNN_RETURN_IF_ERROR(writer->WriteRun());
  return writer;
}

absl::Status TensorboardWriter::Open() {
  const int64_t first = trainer_.epochs_done() + 1;
  DTNN_RETURN_IF_ERROR(MakeRunFolder(options_.folder));
  DTNN_ASSIGN_OR_RETURN(EventFile training, EventFile::Create(TrainFolder(options_.folder), first));
  training_ = std::make_unique<EventFile>(std::move(training));
  if (!options_.validates) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(EventFile validation,
                        EventFile::Create(ValidationFolder(options_.folder), first));
  validation_ = std::make_unique<EventFile>(std::move(validation));
  return absl::OkStatus();
}

absl::Status TensorboardWriter::WriteRun() {
  BoardEvent network;
  network.set_graph_def(ToGraphDef(graph_).SerializeAsString());
  DTNN_RETURN_IF_ERROR(training_->Add(std::move(network)));
  if (!options_.text.empty()) DTNN_RETURN_IF_ERROR(training_->Add(TextEvent(options_.text)));
  if (options_.hyperparameters.empty()) return absl::OkStatus();
  return training_->Add(HyperparameterEvent(options_.hyperparameters));
}

absl::Status TensorboardWriter::OnPassBegin(const Pass& pass) {
  if (pass.kind == Pass::Kind::kTraining) speed_.Begin(pass);
  return absl::OkStatus();
}

absl::Status TensorboardWriter::OnBatchEnd(const Pass& pass) {
  if (pass.kind != Pass::Kind::kValidation || pass.batch == nullptr) return absl::OkStatus();
  if (std::exchange(has_images_, true)) return absl::OkStatus();
  const absl::StatusOr<Tensor> x = ValuesOf(*pass.batch, 0, pass.batch->count);
  if (!x.ok()) return Warn("TensorBoard's files miss the images", x.status());
  images_ = ImagesOf(*x, graph_.format());
  return absl::OkStatus();
}

absl::Status TensorboardWriter::OnPassEnd(const Pass& pass) {
  if (pass.kind == Pass::Kind::kTraining) speed_.End(pass);
  return absl::OkStatus();
}

absl::Status TensorboardWriter::AddHistogram(std::string_view tag, const Tensor& values,
                                             Summary& summary) {
  DTNN_ASSIGN_OR_RETURN(const Tensor host, ToHost(context_, values));
  const std::vector<double> rows = Histogram(host);
  if (rows.empty()) return absl::OkStatus();
  tensorboard::TensorContent& tensor =
      *AddValue(tag, "histograms", kTensorData, summary).mutable_tensor();
  tensor.set_dtype(kDouble);
  tensor.mutable_shape()->add_dim()->set_size(kHistogramBuckets);
  tensor.mutable_shape()->add_dim()->set_size(3);
  tensor.mutable_double_val()->Add(rows.begin(), rows.end());
  return absl::OkStatus();
}

absl::Status TensorboardWriter::AddHistograms(Summary& summary) {
  for (size_t i = 0; i < graph_.nodes().size(); ++i) {
    const Node& node = graph_.nodes()[i];
    for (size_t p = 0; p < node.parameters.size(); ++p) {
      const std::string name = StrCat(node.name, "/", node.parameters[p].name);
      DTNN_RETURN_IF_ERROR(
          AddHistogram(StrCat("parameters/", name), store_.Value(int(i), int(p)), summary));
      if (node.frozen || !node.parameters[p].trainable) continue;
      DTNN_RETURN_IF_ERROR(
          AddHistogram(StrCat("gradients/", name), store_.Gradient(int(i), int(p)), summary));
    }
  }
  return absl::OkStatus();
}

absl::Status TensorboardWriter::WriteEpoch(const Pass& training, const Pass* validation) {
  const int64_t step = training.epoch + 1;
  Summary trained;
  for (const auto& [name, value] : training.averages->Values()) AddScalar(name, value, trained);
  AddScalar("learning_rate", trainer_.engine().learning_rate(), trained);
  AddScalar("samples_per_second", speed_.samples_per_second(), trained);
  DTNN_ASSIGN_OR_RETURN(const auto norm, trainer_.engine().MeasureGradientNorm());
  if (norm) AddScalar("gradient_norm_of_last_update", *norm, trained);
  if (training.epsilon) AddScalar(kEpsilonName, *training.epsilon, trained);
  const auto joules = options_.joules ? options_.joules() : std::nullopt;
  if (joules) AddScalar("joules", *joules, trained);
  DTNN_RETURN_IF_ERROR(AddHistograms(trained));
  DTNN_RETURN_IF_ERROR(training_->Add(EventOf(std::move(trained), step)));
  if (validation == nullptr || validation_ == nullptr) return absl::OkStatus();
  Summary validated = std::exchange(images_, {});
  for (const auto& [name, value] : validation->averages->Values()) {
    AddScalar(name, value, validated);
  }
  return validation_->Add(EventOf(std::move(validated), step));
}

absl::Status TensorboardWriter::OnEpochEnd(const Pass& training, const Pass* validation) {
  const absl::Status status = WriteEpoch(training, validation);
  return status.ok() ? status : Warn("TensorBoard's files miss an epoch", status);
}

absl::Status TensorboardWriter::AddTest(const NamedMetrics& metrics) {
  Summary tested;
  for (const auto& [name, value] : metrics) AddScalar(name, value, tested);
  const absl::Status status = training_->Add(EventOf(std::move(tested), trainer_.epochs_done()));
  return status.ok() ? status : Warn("TensorBoard's files miss the results of the test", status);
}

// What is only looked at does not end a run.
absl::Status TensorboardWriter::Warn(std::string_view what, const absl::Status& status) {
  if (std::exchange(warned_, true) || !options_.warn) return absl::OkStatus();
  options_.warn(StrCat(what, ": ", status.message(), "; training continues"));
  return absl::OkStatus();
}

}  // namespace dtnn
