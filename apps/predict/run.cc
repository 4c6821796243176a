#include "apps/predict/run.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "apps/predict/answer_writer.h"
#include "apps/predict/load_predictor.h"
#include "apps/predict/write_masks.h"
#include "apps/printing/name_lists.h"
#include "apps/program/image_paths.h"
#include "apps/program/program_command.h"
#include "comm/ranks/job/exit_code.h"
#include "data/images/image_files.h"
#include "models/serving/best_predictions.h"
#include "models/serving/predicted_mask.h"
#include "models/serving/predictor.h"
#include "tensor/errors.h"
#include "tensor/files/array_file.h"
#include "tensor/text/counted.h"
#include "tensor/text/one_line.h"

namespace dtnn {
namespace {

class Answerer {
 public:
  Answerer(const PredictOptions& options, Predictor& predictor, std::ostream& out,
           std::ostream& errors)
      : options_(options),
        predictor_(predictor),
        writer_(options.format,
                options.mask_dir.empty() ? std::optional(predictor.output_kind()) : std::nullopt,
                out),
        errors_(errors) {}

  // How many of the files could not be read, or have no finite answer.
  absl::StatusOr<int64_t> Answer(std::span<const std::string> files) {
    if (!options_.mask_dir.empty()) {
      return WriteMasks({.folder = options_.mask_dir, .batch = options_.batch}, predictor_, files,
                        writer_, errors_);
    }
    int64_t broken = 0;
    for (size_t begin = 0; begin < files.size(); begin += size_t(options_.batch)) {
      const size_t count = std::min(size_t(options_.batch), files.size() - begin);
      DTNN_ASSIGN_OR_RETURN(const int64_t of_batch, AnswerBatch(files.subspan(begin, count)));
      broken += of_batch;
    }
    writer_.Finish();
    return broken;
  }

 private:
  absl::StatusOr<int64_t> AnswerBatch(std::span<const std::string> files) {
    DTNN_ASSIGN_OR_RETURN(const auto answers, predictor_.ClassifyEach(files));
    int64_t broken = 0;
    for (size_t i = 0; i < files.size(); ++i) {
      if (const absl::Status& status = answers[i].status(); status.ok()) {
        writer_.Write(files[i], BestPredictions(predictor_, answers[i]->outputs, options_.top));
      } else {
        ++broken;
        ReportStatus(status, "predict", errors_);
        writer_.WriteError(files[i], std::string(status.message()));
      }
    }
    return broken;
  }

  const PredictOptions& options_;
  Predictor& predictor_;
  AnswerWriter writer_;
  std::ostream& errors_;
};

void Warn(std::ostream& errors, std::string_view line) {
  errors << "predict: warning: " << OneLine(line) << "\n";
}

}  // namespace

absl::Status Predict(const PredictOptions& options, std::span<const std::string> paths,
                     std::ostream& out, std::ostream& errors) {
  if (paths.empty())
    return UsageError("no images given; name image files or folders, such as: ",
                      ProgramCommand("predict"), " --model-file=net.safetensors cat.jpg");
  if (options.model_file.empty() && options.weights.empty()) {
    const auto file = std::ranges::find_if(
        paths, [](const std::string& path) { return CheckArrayFileName(path).ok(); });
    return UsageError("--model-file: missing; name the file of a trained model",
                      file == paths.end() ? "" : StrCat(": --model-file=", OneLine(*file, 200)));
  }
  std::vector<std::string> warnings;
  auto predictor = LoadPredictor(options, warnings);
  for (const std::string& warning : warnings) Warn(errors, warning);
  DTNN_RETURN_IF_ERROR(predictor.status());
  if (options.top > 0 && !options.mask_dir.empty()) {
    Warn(errors, "--top has no effect: masks show the likeliest class of each pixel");
  } else if (options.top > 0 && (*predictor)->output_kind() == OutputKind::kValues) {
    Warn(errors, "--top has no effect: the network predicts values, and all of them are printed");
  }
  if (options.mask_dir.empty() && CheckPredictsMasks(**predictor).ok()) {
    Warn(errors,
         "the network gives probabilities for each pixel, and all of them are printed; --mask-dir "
         "writes the likeliest classes as images instead");
  }
  SkippedFiles skipped;
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::string> files, ExpandImagePaths(paths, skipped));
  if (skipped.count() > 0) Warn(errors, skipped.Describe());
  if (files.empty()) return NotFound(absl::StrJoin(paths, ", "), ": no JPEG or PNG images there");
  Answerer answerer(options, **predictor, out, errors);
  DTNN_ASSIGN_OR_RETURN(const int64_t broken, answerer.Answer(files));
  if (broken == 0) return absl::OkStatus();
  if (files.size() == 1) return absl::DataLossError("");  // all is said
  return DataLoss(broken, " of ", Counted(int64_t(files.size()), "file"),
                  " could not be classified");
}

}  // namespace dtnn
