#include "apps/conversion/quantize_samples.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "apps/program/image_paths.h"
#include "comm/ranks/job/exit_code.h"
#include "data/datasets/more_classes.h"
#include "data/files/folder_listing.h"
#include "data/loading/open_dataset.h"
#include "data/normalize.h"
#include "data/preprocessing.h"
#include "models/serving/image_input.h"
#include "tensor/errors.h"
#include "tensor/format.h"
#include "tensor/text/nearest.h"

namespace dtnn {
namespace {

class SampleReader {
 public:
  SampleReader(const QuantizeFlags& flags, const SavedModel& model)
      : flags_(flags),
        model_(model),
        sample_(ExtentsOf(model.graph.input_shape(), model.graph.format())) {}

  absl::StatusOr<QuantizeSamples> Read() {
    const auto named = [&] { return std::ranges::count(DatasetNames(), flags_.calibrate) > 0; };
    if (flags_.dataset != nullptr || named()) return OfDataset();
    return OfFolder();
  }

 private:
  absl::StatusOr<Tensor> New(int64_t n) const {
    return Tensor::Zeros(DType::kFloat32, model_.graph.input_shape().Prepend(n));
  }

  absl::StatusOr<QuantizeSamples> OfFolder() {
    DTNN_ASSIGN_OR_RETURN(const PathKind kind, LookAt(flags_.calibrate));
    if (kind == PathKind::kNothing) {
      const std::vector<std::string_view> names = DatasetNames();
      return UsageError("--calibrate=", flags_.calibrate,
                        ": is neither the name of a data set nor a folder",
                        DidYouMean(flags_.calibrate, names), " (--calibrate=list shows data sets)");
    }
    const std::string paths[] = {flags_.calibrate};
    SkippedFiles skipped;
    DTNN_ASSIGN_OR_RETURN(std::vector<std::string> files, ExpandImagePaths(paths, skipped));
    if (files.empty()) {
      return UsageError("--calibrate=", flags_.calibrate,
                        ": contains no JPEG or PNG images, and is not the name of a data set "
                        "(--calibrate=list shows them)");
    }
    const int64_t count = std::min(int64_t(files.size()), flags_.samples);
    DTNN_ASSIGN_OR_RETURN(const ImageInput images,
                          ImageInput::Create(model_.preprocessing, sample_, model_.graph.format()));
    QuantizeSamples samples;
    DTNN_ASSIGN_OR_RETURN(samples.calibration, New(count));
    for (int64_t i = 0; i < count; ++i) {
      const size_t file = size_t(i * int64_t(files.size()) / count);
      DTNN_RETURN_IF_ERROR(
          WithContext(images.Read(files[file], samples.calibration, i), "--calibrate"));
    }
    samples.test = samples.calibration;
    return samples;
  }

  absl::StatusOr<QuantizeSamples> OfDataset() {
    dataset_ = flags_.dataset;
    if (dataset_ == nullptr) {
      const OpenDatasetOptions options = {
          .path = flags_.dataset_path,
          .geometry = GeometryToOpenWith(model_.preprocessing, sample_).value_or(Geometry{}),
          .imagenet_whole = ExtentsToOpenWith(model_.preprocessing, sample_).height == 227};
      const bool has_files = flags_.calibrate != "mnist" && flags_.calibrate != "synthetic";
      if (flags_.dataset_path.empty() && has_files) {
        return UsageError(
            "--dataset-path: missing; where are the files of --calibrate=", flags_.calibrate, "?");
      }
      DTNN_ASSIGN_OR_RETURN(
          dataset_, WithContext(OpenDataset(flags_.calibrate, options),
                                flags_.dataset_path.empty() ? "--calibrate" : "--dataset-path"));
    }
    DTNN_ASSIGN_OR_RETURN(dataset_,
                          WithContext(WithClassNames(dataset_, model_.description.class_names),
                                      "--calibrate=", flags_.calibrate));
    const int64_t outputs = OutputsOf(model_.graph);
    if (dataset_->sample() != sample_ || dataset_->outputs() != outputs) {
      return UsageError("--calibrate=", flags_.calibrate, ": its samples are ",
                        ToString(dataset_->sample()), " with ", dataset_->outputs(),
                        " outputs; model ", model_.graph.name(), " takes ", ToString(sample_),
                        " and has ", outputs);
    }
    DTNN_RETURN_IF_ERROR(CheckPreprocessing());
    QuantizeSamples samples;
    std::vector<int32_t> unused;
    DTNN_ASSIGN_OR_RETURN(samples.calibration, ReadSplit(Split::kTrain, flags_.samples, unused));
    const bool tests = dataset_->size(Split::kTest) > 0;
    DTNN_ASSIGN_OR_RETURN(
        samples.test,
        ReadSplit(tests ? Split::kTest : Split::kTrain,
                  flags_.test_samples > 0 ? flags_.test_samples : INT64_MAX, samples.classes));
    return samples;
  }

  // What Read does not do of it, `normalization_` does. Values that a caller gives are those that
  // training had, as a prediction takes them.
  absl::Status CheckPreprocessing() {
    using Input = Preprocessing::Input;
    const Preprocessing& wanted = model_.preprocessing;
    Preprocessing shown = dataset_->preprocessing();
    const bool given = flags_.dataset != nullptr;
    if (given && shown.input == Input::kValues && wanted.input != Input::kValues) {
      shown.input = wanted.input;
      shown.geometry = std::nullopt;
    }
    normalization_ = shown.normalization.any() ? wanted.then : wanted.normalization;
    AddNormalization(normalization_, shown);
    if (SamePreprocessing(shown, wanted, sample_.channels)) return absl::OkStatus();
    return InvalidArgument("--calibrate=", flags_.calibrate,
                           ": its samples are preprocessed in another way (", Describe(shown),
                           ") than those of the model's training (", Describe(wanted), ")",
                           given && wanted.input == Input::kValues
                               ? "; give their values, of float32, as training had them"
                               : "");
  }

  absl::StatusOr<Tensor> ReadSplit(Split split, int64_t most, std::vector<int32_t>& classes) const {
    const int64_t all = dataset_->size(split), n = std::min(most, all);
    DTNN_ASSIGN_OR_RETURN(const Tensor x, New(n));
    DTNN_ASSIGN_OR_RETURN(
        const Tensor targets,
        Tensor::Zeros(TargetDType(*dataset_, DType::kFloat32), TargetShape(*dataset_, n)));
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < n; ++i) indices.push_back(i * all / n);
    DTNN_RETURN_IF_ERROR(dataset_->Read(split, indices, model_.graph.format(), x, targets));
    Normalize(normalization_, sample_, model_.graph.format(),
              std::span(x.data<float>(), size_t(x.num_elements())));
    if (dataset_->target_kind() == TargetKind::kClass) {
      classes.assign(targets.data<int32_t>(), targets.data<int32_t>() + n);
    }
    return x;
  }

  const QuantizeFlags& flags_;
  const SavedModel& model_;
  const ImageExtents sample_;
  std::shared_ptr<const Dataset> dataset_;
  Normalization normalization_;
};

}  // namespace

absl::StatusOr<QuantizeSamples> ReadSamples(const QuantizeFlags& flags, const SavedModel& model) {
  return SampleReader(flags, model).Read();
}

}  // namespace dtnn
