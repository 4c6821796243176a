#include "data/datasets/imagenet/imagenet_synsets.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "data/files/file_set.h"
#include "data/formats/csv.h"
#include "data/formats/matlab.h"
#include "tensor/errors.h"
#include "tensor/text/number.h"

namespace dtnn {
namespace {

// Synsets beyond these are inner nodes of the hierarchy, not classes.
constexpr int kMaxClasses = 1000;
constexpr std::string_view kFields[] = {"ILSVRC2012_ID", "WNID", "words"};

struct Synset {
  int number = 0;
  std::string name, words;
};

absl::StatusOr<std::vector<Synset>> ReadClasses(std::span<const uint8_t> meta,
                                                std::string_view name) {
  DTNN_ASSIGN_OR_RETURN(auto rows, ReadMatlabStructs(meta, name, "synsets", kFields));
  std::vector<Synset> classes;
  for (auto& row : rows) {
    const double* number = std::get_if<double>(&row[0]);
    std::string* wnid = std::get_if<std::string>(&row[1]);
    std::string* words = std::get_if<std::string>(&row[2]);
    if (number == nullptr || wnid == nullptr || words == nullptr) {
      return InvalidArgument(name, ": a synset has no number, name or words");
    }
    if (!(*number >= 1 && *number <= kMaxClasses)) continue;
    classes.push_back({int(*number), std::move(*wnid), std::move(*words)});
  }
  std::sort(classes.begin(), classes.end(),
            [](const Synset& a, const Synset& b) { return a.number < b.number; });
  for (size_t i = 0; i < classes.size(); ++i) {
    if (classes[i].number != int(i) + 1) {
      return InvalidArgument(name, ": expected exactly one synset with number ", i + 1);
    }
  }
  if (classes.empty()) return InvalidArgument(name, ": contains no synsets");
  return classes;
}

}  // namespace

absl::StatusOr<ImagenetSynsets> ParseImagenetSynsets(std::span<const uint8_t> meta,
                                                     std::string_view ground_truth,
                                                     std::string_view name) {
  const std::string meta_name = StrCat(name, ": meta.mat");
  DTNN_ASSIGN_OR_RETURN(std::vector<Synset> classes, ReadClasses(meta, meta_name));
  std::sort(classes.begin(), classes.end(),
            [](const Synset& a, const Synset& b) { return a.name < b.name; });
  ImagenetSynsets synsets;
  synsets.place.resize(classes.size());
  for (Synset& synset : classes) {
    synsets.place[size_t(synset.number) - 1] = int32_t(synsets.names.size());
    if (!synsets.names.empty() && synsets.names.back() == synset.name) {
      return InvalidArgument(meta_name, ": synset ", synset.name, " is listed twice");
    }
    synsets.names.push_back(std::move(synset.name));
    synsets.words.push_back(std::move(synset.words));
  }
  CsvReader lines(ground_truth, StrCat(name, ": ILSVRC2012_validation_ground_truth.txt"));
  std::vector<std::string> fields;
  for (;;) {
    DTNN_ASSIGN_OR_RETURN(const bool more, lines.Next(fields));
    if (!more) return synsets;
    const std::optional<int> number = NumberIn<int>(fields[0]);
    if (!number || *number < 1 || *number > int(classes.size())) {
      return InvalidArgument(lines.Place(), ": expected a number from 1 to ", classes.size());
    }
    synsets.validation.push_back(synsets.place[size_t(*number) - 1]);
  }
}

absl::StatusOr<ImagenetSynsets> ReadImagenetSynsets(const std::string& folder) {
  const FileSet kit = {.folder = "ILSVRC2012_devkit_t12/data",
                       .archive = "ILSVRC2012_devkit_t12.tar.gz",
                       .names = {"meta.mat", "ILSVRC2012_validation_ground_truth.txt"},
                       .how_to_get =
                           "Download the development kit of ImageNet's 2012 challenge (tasks 1 and "
                           "2) from https://image-net.org/download-images",
                       .max_file_bytes = uint64_t{1} << 26,
                       .max_total_bytes = uint64_t{1} << 30};
  DTNN_ASSIGN_OR_RETURN(const std::vector<LoadedFile> files, LoadFiles(kit, folder));
  const std::string_view text(reinterpret_cast<const char*>(files[1].bytes.data()),
                              files[1].bytes.size());
  absl::StatusOr<ImagenetSynsets> synsets =
      ParseImagenetSynsets(files[0].bytes.view(), text, folder);
  for (const LoadedFile& file : files) DTNN_RETURN_IF_ERROR(file.bytes.Check());
  return synsets;
}

}  // namespace dtnn
