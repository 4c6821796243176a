#include "data/folder.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "data/image_dataset.h"
#include "data/name_list.h"
#include "data/read_bytes.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;

constexpr char kLayout[] = "expected <path>/train/<class>/<image> and <path>/test/<class>/<image>";

absl::Status Unreadable(const fs::path& path, const std::error_code& error) {
  return absl::PermissionDeniedError(
      absl::StrCat(path.string(), ": cannot be listed: ", error.message()));
}

bool Hidden(const fs::path& path) { return path.filename().native().starts_with('.'); }

// Names of the folders in `path`, sorted.
absl::StatusOr<std::vector<std::string>> ClassesIn(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    return absl::NotFoundError(absl::StrCat(path.string(), ": there is no such folder; ", kLayout));
  }
  std::vector<std::string> classes;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (!Hidden(at->path()) && at->is_directory(ignored)) {
      classes.push_back(at->path().filename().string());
    }
  }
  if (error) return Unreadable(path, error);
  if (classes.empty()) {
    return absl::NotFoundError(
        absl::StrCat(path.string(), ": holds no folders, hence no classes; ", kLayout));
  }
  std::sort(classes.begin(), classes.end());
  return classes;
}

// Paths relative to `root` of the files at any depth below `root`/`name`, sorted.
absl::StatusOr<std::vector<std::string>> FilesBelow(const fs::path& root, const std::string& name) {
  std::error_code error;
  std::vector<std::string> files;
  const auto options = fs::directory_options::follow_directory_symlink;
  fs::recursive_directory_iterator at(root / name, options, error), end;
  for (; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (Hidden(at->path())) {
      at.disable_recursion_pending();
    } else if (!at->is_directory(ignored)) {
      files.push_back(at->path().lexically_relative(root).string());
    }
  }
  if (error) return Unreadable(root / name, error);
  std::sort(files.begin(), files.end());
  return files;
}

struct Samples {
  fs::path root;
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
  int64_t size(Part part) const override { return samples(part).names.size(); }

 protected:
  absl::Status ReadEncoded(Part part, int64_t index, std::vector<uint8_t>& bytes) const override {
    return ReadBytes(FileName(part, index), bytes);
  }
  std::string FileName(Part part, int64_t index) const override {
    return (samples(part).root / samples(part).names[index]).string();
  }
  void WriteTarget(Part part, int64_t index, int64_t row, const Tensor& targets) const override {
    targets.data<int32_t>()[row] = samples(part).labels[size_t(index)];
  }

 private:
  const Samples& samples(Part part) const { return part == Part::kTrain ? train_ : test_; }
  absl::Status List(const fs::path& root, Samples& samples) const;

  std::vector<std::string> classes_;
  Samples train_, test_;
};

absl::Status Folder::List(const fs::path& root, Samples& samples) const {
  samples.root = root;
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::string> folders, ClassesIn(root));
  for (const std::string& folder : folders) {
    const auto at = std::lower_bound(classes_.begin(), classes_.end(), folder);
    if (at == classes_.end() || *at != folder) {
      return absl::InvalidArgumentError(absl::StrCat(
          (root / folder).string(), ": is a class that the training part does not have"));
    }
    DTNN_ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesBelow(root, folder));
    for (const std::string& file : files) samples.names.Add(file);
    samples.labels.resize(size_t(samples.names.size()), int32_t(at - classes_.begin()));
  }
  if (samples.names.size() > 0) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(root.string(), ": its folders hold no files; ", kLayout));
}

absl::Status Folder::Open(const FolderOptions& options) {
  if (options.train.empty() && options.test.empty()) {
    return absl::InvalidArgumentError("folder: no path was given");
  }
  const fs::path train = fs::path(options.train.empty() ? options.test : options.train) / "train";
  const fs::path test = fs::path(options.test) / "test";
  std::error_code error;
  const bool by_test = options.train.empty() && !fs::exists(train, error);
  DTNN_ASSIGN_OR_RETURN(classes_, ClassesIn(by_test ? test : train));
  if (!options.train.empty()) DTNN_RETURN_IF_ERROR(List(train, train_));
  if (!options.test.empty()) DTNN_RETURN_IF_ERROR(List(test, test_));
  return Init();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> OpenFolder(const FolderOptions& options) {
  auto folder = std::make_unique<Folder>(options.geometry);
  DTNN_RETURN_IF_ERROR(folder->Open(options));
  return folder;
}

}  // namespace dtnn
