#include "apps/predict/write_masks.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <new>
#include <system_error>
#include <vector>

#include "apps/predict/mask_file.h"
#include "comm/ranks/job/exit_code.h"
#include "data/files/read_bytes.h"
#include "data/images/image.h"
#include "models/serving/predicted_mask.h"
#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"
#include "tensor/files/make_folder.h"
#include "tensor/files/output_file.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;

// Without links and dots, so that two names of one file are the same.
std::string Canonical(const std::string& path) {
  std::error_code error;
  const fs::path canonical = fs::weakly_canonical(path, error);
  return error ? path : canonical.string();
}

// The mask of each file.
absl::StatusOr<std::vector<std::string>> MaskNames(const std::string& folder,
                                                   std::span<const std::string> files) {
  std::map<std::string, std::string> images;  // by their canonical names
  for (const std::string& file : files) images.emplace(Canonical(file), file);
  std::vector<std::string> masks;
  std::map<std::string, std::string> image_of;  // by its mask
  for (const std::string& file : files) {
    masks.push_back((fs::path(folder) / fs::path(file).stem()).string() + ".png");
    const auto [other, first] = image_of.emplace(masks.back(), file);
    if (!first) {
      return UsageError("--mask-dir: ", other->second, " and ", file, " have the same mask, ",
                        masks.back(), "; give each its own run and folder");
    }
    if (const auto image = images.find(Canonical(masks.back())); image != images.end()) {
      return UsageError("--mask-dir: the mask of ", file, " would replace the image ",
                        image->second, "; name another folder");
    }
  }
  return masks;
}

class MaskWriter {
 public:
  MaskWriter(Predictor& predictor, const ImageInput& input, AnswerWriter& writer,
             std::ostream& errors)
      : predictor_(predictor), input_(input), writer_(writer), errors_(errors) {}

  // The masks of at most a batch of files. Returns how many files have none.
  absl::StatusOr<int64_t> Write(std::span<const std::string> files,
                                std::span<const std::string> masks) {
    const int64_t n = int64_t(files.size());
    DTNN_ASSIGN_OR_RETURN(const Tensor x, predictor_.NewSamples(n));
    std::vector<absl::StatusOr<ImageExtents>> read(files.size());
    ParallelFor(0, n, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) read[size_t(i)] = Read(files[size_t(i)], x, i);
    });
    DTNN_ASSIGN_OR_RETURN(const Tensor outputs, predictor_.Predict(x));
    int64_t without = 0;
    for (size_t i = 0; i < files.size(); ++i) {
      const absl::StatusOr<Image> mask =
          read[i].ok()
              ? WithContext(PredictedMask(predictor_, outputs, int64_t(i), *read[i]), files[i])
              : read[i].status();
      if (mask.ok()) {
        DTNN_ASSIGN_OR_RETURN(const std::vector<uint8_t> png, EncodeMask(*mask));
        DTNN_RETURN_IF_ERROR(WriteFileAtomically(masks[i], std::as_bytes(std::span(png))));
        writer_.WriteMask(files[i], masks[i]);
      } else {
        ++without;
        ReportStatus(mask.status(), "predict", errors_);
        writer_.WriteError(files[i], std::string(mask.status().message()));
      }
    }
    return without;
  }

 private:
  // The image at `path` becomes sample `row`.
  absl::StatusOr<ImageExtents> Read(const std::string& path, const Tensor& x, int64_t row) const {
    try {
      std::vector<uint8_t> bytes;
      DTNN_RETURN_IF_ERROR(ReadBytes(path, bytes));
      DTNN_RETURN_IF_ERROR(input_.Decode(bytes, path, x, row));
      return ReadImageExtents(bytes, path);
    } catch (const std::bad_alloc&) {
      return ResourceExhausted(path, ": not enough memory to read it");
    }
  }

  Predictor& predictor_;
  const ImageInput& input_;
  AnswerWriter& writer_;
  std::ostream& errors_;
};

}  // namespace

absl::StatusOr<int64_t> WriteMasks(const MaskOptions& options, Predictor& predictor,
                                   std::span<const std::string> files, AnswerWriter& writer,
                                   std::ostream& errors) {
  if (const absl::Status status = CheckPredictsMasks(predictor); !status.ok()) {
    return UsageError("--mask-dir: ", status.message(), "; leave the option out");
  }
  DTNN_ASSIGN_OR_RETURN(const ImageInput* const input, predictor.images());
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::string> masks, MaskNames(options.folder, files));
  DTNN_RETURN_IF_ERROR(
      MakeFolder(options.folder, StrCat("--mask-dir: ", options.folder, ": cannot be created")));
  for (const std::string& mask : masks) {  // before the work
    DTNN_RETURN_IF_ERROR(WithContext(CheckOutputFile(mask, "a mask", IsOwnMask), "--mask-dir"));
  }
  MaskWriter mask_writer(predictor, *input, writer, errors);
  int64_t without = 0;
  for (size_t begin = 0; begin < files.size(); begin += size_t(options.batch)) {
    const size_t count = std::min(size_t(options.batch), files.size() - begin);
    DTNN_ASSIGN_OR_RETURN(
        const int64_t of_batch,
        mask_writer.Write(files.subspan(begin, count), std::span(masks).subspan(begin, count)));
    without += of_batch;
  }
  writer.Finish();
  return without;
}

}  // namespace dtnn
