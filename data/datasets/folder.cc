#include "data/datasets/folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "data/class_warnings.h"
#include "data/datasets/image_dataset.h"
#include "data/files/folder_listing.h"
#include "data/files/name_list.h"
#include "data/files/read_bytes.h"
#include "data/images/image_files.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;

// Folders of the test split.
constexpr std::string_view kTestNames[] = {"test", "val", "valid", "validation"};

constexpr char kLayout[] = "expected <path>/train/<class>/<image> and <path>/test/<class>/<image>";

absl::StatusOr<std::vector<std::string>> ClassesIn(const std::string& path) {
  absl::StatusOr<std::vector<std::string>> classes = FoldersIn(path);
  if (absl::IsNotFound(classes.status())) {
    return NotFound(classes.status().message(), "; ", kLayout);
  }
  if (classes.ok() && classes->empty()) {
    return NotFound(path, ": contains no folders, hence no classes; ", kLayout);
  }
  return classes;
}

struct Samples {
  std::string root;
  NameList names;  // relative to root
  std::vector<int32_t> labels;
};

class Folder : public ImageDataset {
 public:
  explicit Folder(const Geometry& geometry) : ImageDataset(geometry, 3) {}

  absl::Status Open(const FolderOptions& options);

  std::string_view name() const override { return "folder"; }
  int64_t outputs() const override { return int64_t(classes_.size()); }
  std::vector<std::string> class_names() const override { return classes_; }
  std::vector<std::string> warnings() const override {
    std::vector<std::string> warnings = ClassWarnings(*this);
    if (!renamed_.empty()) warnings.insert(warnings.begin(), renamed_);
    if (skipped_.count() > 0) warnings.push_back(skipped_.Describe());
    for (std::string& damaged : ImageDataset::warnings()) warnings.push_back(std::move(damaged));
    return warnings;
  }

 protected:
  int64_t listed(Split split) const override { return samples(split).names.size(); }
  std::vector<int32_t> ListedLabels(Split split) const override { return samples(split).labels; }
  absl::Status ReadEncoded(Split split, int64_t index, std::vector<uint8_t>& bytes) const override {
    return ReadBytes(FileName(split, index), bytes);
  }
  std::string FileName(Split split, int64_t index) const override {
    return StrCat(samples(split).root, "/", samples(split).names[index]);
  }
  absl::Status WriteTarget(Split split, int64_t index, std::span<const uint8_t>, int64_t row,
                           const Tensor& targets) const override {
    targets.data<int32_t>()[row] = samples(split).labels[size_t(index)];
    return absl::OkStatus();
  }

 private:
  const Samples& samples(Split split) const { return split == Split::kTrain ? train_ : test_; }
  absl::Status List(const std::string& root, Samples& samples);

  std::vector<std::string> classes_;
  Samples train_, test_;
  SkippedFiles skipped_;
  std::string renamed_;  // a warning
};

// InvalidArgument where two classes hold the same file. Costs a system call per file, so it is for
// folders with links.
absl::Status CheckDistinct(const Samples& samples, const std::vector<std::string>& classes) {
  using File = std::pair<dev_t, ino_t>;
  std::vector<std::pair<File, int64_t>> files;  // and sample
  for (int64_t i = 0; i < samples.names.size(); ++i) {
    struct stat info = {};
    // What cannot be looked at is an error when it is read.
    if (stat(StrCat(samples.root, "/", samples.names[i]).c_str(), &info) != 0) continue;
    files.push_back({{info.st_dev, info.st_ino}, i});
  }
  std::ranges::sort(files);
  for (size_t i = 1; i < files.size(); ++i) {
    const auto [first, second] = std::pair(files[i - 1].second, files[i].second);
    const int32_t a = samples.labels[size_t(first)], b = samples.labels[size_t(second)];
    if (files[i - 1].first != files[i].first || a == b) continue;
    return InvalidArgument(samples.root, ": ", samples.names[first], " and ", samples.names[second],
                           " are one file, which counts in two classes, ", classes[size_t(a)],
                           " and ", classes[size_t(b)],
                           "; remove the link that leads from one to the other");
  }
  return absl::OkStatus();
}

absl::Status Folder::List(const std::string& root, Samples& samples) {
  samples.root = root;
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::string> folders, ClassesIn(root));
  bool links = false;
  for (const std::string& name : folders) {
    const std::string folder = StrCat(root, "/", name);
    const auto at = std::lower_bound(classes_.begin(), classes_.end(), name);
    if (at == classes_.end() || *at != name) {
      return InvalidArgument(folder,
                             ": is the folder of a class that the training split does not have");
    }
    DTNN_ASSIGN_OR_RETURN(const ImageFiles files, ImageFilesBelow(folder, &links));
    for (const std::string& file : files.images) {
      samples.names.Add(StrCat(name, "/", file));
    }
    samples.labels.resize(size_t(samples.names.size()), int32_t(at - classes_.begin()));
    skipped_.Add(folder, files);
  }
  if (links) DTNN_RETURN_IF_ERROR(CheckDistinct(samples, classes_));
  if (samples.names.size() > 0) return absl::OkStatus();
  return NotFound(root, ": its folders contain no JPEG or PNG images; ", kLayout);
}

absl::Status Folder::Open(const FolderOptions& options) {
  if (options.train.empty() && options.test.empty()) {
    return absl::InvalidArgumentError("folder: no path was given");
  }
  const fs::path root = options.train.empty() ? options.test : options.train;
  const std::string train = (root / "train").string();
  std::string test;
  if (!options.test.empty()) {
    DTNN_ASSIGN_OR_RETURN(test, FolderOfSplit(options.test, Split::kTest));
    renamed_ = TestFolderWarning(options.test, test);
  }
  bool by_test = false;  // where there is no training split to number the classes
  if (options.train.empty()) {
    DTNN_ASSIGN_OR_RETURN(const PathKind kind, LookAt(train));
    by_test = kind == PathKind::kNothing;
  }
  DTNN_ASSIGN_OR_RETURN(classes_, ClassesIn(by_test ? test : train));
  if (!options.train.empty()) DTNN_RETURN_IF_ERROR(List(train, train_));
  if (!options.test.empty()) DTNN_RETURN_IF_ERROR(List(test, test_));
  return Init(options.skip_damaged);
}

}  // namespace

absl::StatusOr<std::string> FolderOfSplit(const std::string& path, Split split) {
  if (split == Split::kTest) {
    for (const std::string_view name : kTestNames) {
      std::string folder = (fs::path(path) / name).string();
      DTNN_ASSIGN_OR_RETURN(const PathKind kind, LookAt(folder));
      if (kind != PathKind::kNothing) return folder;
    }
  }
  return (fs::path(path) / Name(split)).string();
}

std::string TestFolderWarning(const std::string& path, const std::string& test) {
  if (fs::path(test).filename() == Name(Split::kTest)) return "";
  return StrCat(path, ": has no folder test; ", test, " is taken as the test split");
}

absl::StatusOr<std::unique_ptr<Dataset>> OpenFolder(const FolderOptions& options) {
  auto folder = std::make_unique<Folder>(options.geometry);
  DTNN_RETURN_IF_ERROR(folder->Open(options));
  return folder;
}

}  // namespace dtnn
