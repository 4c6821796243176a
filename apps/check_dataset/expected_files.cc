#include "apps/check_dataset/expected_files.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "apps/program/program_command.h"
#include "data/files/archive_reader.h"
#include "data/files/byte_source.h"
#include "data/files/folder_listing.h"
#include "data/files/md5.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLarge = uint64_t{1} << 30;

// What a file may hold.
struct Known {
  const char* what;  // "MNIST", or nothing
  uint64_t bytes;    // 0: not known
  const char* md5;   // null: not known
};

struct Expected {
  std::vector<std::string> names;  // the first is its own, the others are spellings
  std::vector<Known> known = {};
  bool others = false;  // contents unlike the known ones are fine
};

struct Set {
  std::string_view name;
  std::vector<Expected> files;
  std::string how_to_get;
  std::string folder = {};   // the files may lie in it,
  std::string archive = {};  // or in this archive
  bool contents = false;     // sizes and sums are of what .gz files unpack to
};

Expected Idx(const std::string& stem, const std::string& ending, std::vector<Known> known) {
  Expected file = {{}, std::move(known), true};
  for (const char* packed : {"", ".gz"}) {
    for (const char* separator : {"-", "."}) {
      file.names.push_back(stem + separator + ending + packed);
    }
  }
  return file;
}

std::vector<Expected> Records(std::vector<const char*> sums, uint64_t bytes) {
  std::vector<Expected> files;
  for (size_t i = 0; i < sums.size(); ++i) {
    const bool last = i + 1 == sums.size();
    const std::string name = last ? "test_batch.bin" : StrCat("data_batch_", i + 1, ".bin");
    files.push_back({{name}, {}});
    if (bytes > 0) files.back().known = {{"", bytes, sums[i]}};
  }
  return files;
}

const std::vector<Set>& Sets() {
  static const auto* sets = new std::vector<Set>{
      {"mnist",
       {Idx("train-images", "idx3-ubyte",
            {{"MNIST", 47040016, "6bbc9ace898e44ae57da46a324031adb"},
             {"Fashion-MNIST", 47040016, "f4a8712d7a061bf5bd6d2ca38dc4d50a"}}),
        Idx("train-labels", "idx1-ubyte",
            {{"MNIST", 60008, "a25bea736e30d166cdddb491f175f624"},
             {"Fashion-MNIST", 60008, "9018921c3c673c538a1fc5bad174d6f9"}}),
        Idx("t10k-images", "idx3-ubyte",
            {{"MNIST", 7840016, "2646ac647ad5339dbf082846283269ea"},
             {"Fashion-MNIST", 7840016, "8181f5470baa50b63fa0f6fddb340f0a"}}),
        Idx("t10k-labels", "idx1-ubyte",
            {{"MNIST", 10008, "27ae3e4e09519cfbb04c329615203637"},
             {"Fashion-MNIST", 10008, "15d484375f8d13e6eb1aabb0c3f46965"}})},
       "Fashion-MNIST comes with `sudo apt-get install dataset-fashion-mnist` and is then in "
       "/usr/share/datasets/fashion-mnist; MNIST's files are found on the web by their names.",
       "",
       "",
       true},
      {"cifar10",
       Records({"5dd7e06a14cb22eb9f671a540d1b7c25", "5ea93a67294ea407fff1d09f752e9692",
                "942cd6a4bcdd0dd3c604fbe906cb4421", "ae636b3ba5c66a11e91e8cb52e771fcb",
                "53f37980c15c3d472c316c40844f3f0d", "803d5f7f4d78ea53de84dbe85f74fb6d"},
               30730000),
       "They are in cifar-10-binary.tar.gz, at https://www.cs.toronto.edu/~kriz/cifar.html.",
       "cifar-10-batches-bin", "cifar-10-binary.tar.gz"},
      {"cyclone", Records({nullptr, nullptr, nullptr, nullptr, nullptr, nullptr}, 80010000),
       "The data are not public; ask those who made them.", "cyclone-batches-bin",
       "cyclone-binary.tar.gz"},
      {"tsunamis", Records({nullptr, nullptr}, 0),
       "The data are not public; ask those who made them.", "tsunamis-batches-bin",
       "tsunamis-binary.tar.gz"},
      {"imagenet",
       {{{"ILSVRC2012_img_train.tar"}, {{"", 147897477120, "1d675b47d978889d74fa0da5fadfb00e"}}},
        {{"ILSVRC2012_img_val.tar"}, {{"", 6744924160, "29b22e2961454d5413ddabcf34fc5622"}}},
        {{"ILSVRC2012_devkit_t12.tar.gz"}, {{"", 0, "fa75699e90414af021442c21a62c3abf"}}}},
       StrCat(
           "They are at https://image-net.org/download-images, for those with an account there; ",
           ProgramCommand("convert_imagenet"), " makes .npz files of them.")},
      {"chestxray",
       {{{"Data_Entry_2017.csv", "Data_Entry_2017_v2020.csv"}},
        {{"train_val_list.txt"}},
        {{"test_list.txt"}}},
       "They are at https://nihcc.app.box.com/v/ChestXray-NIHCC, with images_01.tar.gz to "
       "images_12.tar.gz."},
      {"folder", {}, "Expected <path>/train/<class>/<image> and <path>/test/<class>/<image>."},
      {"masks",
       {},
       "Expected <path>/train/images/<image>, <path>/train/masks/<image>.png, and the "
       "same in <path>/test."},
      {"archive", {}, "Expected an .npz file with x_train, y_train, x_test and y_test."},
      {"synthetic", {}, "It has no files."},
  };
  return *sets;
}

// What is known of a file, and what it holds.
void Compare(const Expected& expected, const Digest& digest, FileReport& report) {
  if (expected.known.empty()) return;
  for (const Known& known : expected.known) {
    if (known.bytes > 0 && known.bytes != digest.bytes) continue;
    if (known.md5 == nullptr || digest.md5.empty()) {
      report.detail = digest.md5.empty() ? "the size is right; --read also compares the checksum"
                                         : "the size is right";
      return;
    }
    if (digest.md5 == known.md5) {
      report.detail = known.what[0] != '\0' ? known.what : "the checksum is right";
      return;
    }
  }
  const Known& first = expected.known[0];
  if (expected.others) {
    report.state = FileState::kUnknown;
    report.detail = StrCat("unknown file of ", digest.bytes, " bytes, MD5 ", digest.md5);
  } else if (first.bytes > 0 && first.bytes != digest.bytes) {
    report.state = FileState::kWrongSize;
    report.detail =
        StrCat(digest.bytes, " bytes, expected ", first.bytes, "; is the download complete?");
  } else {
    report.state = FileState::kWrongChecksum;
    report.detail = StrCat("MD5 ", digest.md5, ", expected ", first.md5, "; download it again");
  }
}

absl::StatusOr<Digest> DigestOf(const fs::path& path, bool contents, bool large_files) {
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> source, FileSource(path.string()));
  if (source->bound() > kLarge && !large_files) return Digest{source->bound(), ""};
  if (contents) {
    DTNN_ASSIGN_OR_RETURN(source, Unpacked(std::move(source)));
  }
  return Md5([&](std::span<uint8_t> to) { return source->Read(to); });
}

FileReport CheckFile(const Expected& expected, const std::vector<fs::path>& folders, bool contents,
                     bool large_files) {
  FileReport report = {expected.names[0], FileState::kMissing, ""};
  for (const std::string& name : expected.names) {
    for (const fs::path& folder : folders) {
      const absl::StatusOr<PathKind> kind = LookAt((folder / name).string());
      if (kind.ok() && *kind == PathKind::kNothing) continue;
      report.name = name;
      report.state = FileState::kFound;
      const absl::StatusOr<Digest> digest =
          kind.ok() ? DigestOf(folder / name, contents, large_files) : kind.status();
      if (digest.ok()) {
        Compare(expected, *digest, report);
      } else {
        report.state = FileState::kUnreadable;
        report.detail = std::string(digest.status().message());
      }
      return report;
    }
  }
  return report;
}

// Members by the last part of their names. An error of the archive goes to the files not seen yet.
std::vector<FileReport> CheckMembers(const Set& set, const std::string& path) {
  std::vector<FileReport> reports;
  for (const Expected& file : set.files) {
    reports.push_back({file.names[0], FileState::kMissing, StrCat("not in ", path)});
  }
  absl::Status status;
  absl::StatusOr<ArchiveReader> archive = ArchiveReader::Open(path);
  const auto read = [&]() -> absl::Status {
    DTNN_RETURN_IF_ERROR(archive.status());
    for (;;) {
      DTNN_ASSIGN_OR_RETURN(const bool more, archive->Next());
      if (!more) return absl::OkStatus();
      const std::string name = fs::path(archive->member()).filename().string();
      for (size_t i = 0; i < reports.size(); ++i) {
        if (reports[i].name != name) continue;
        DTNN_ASSIGN_OR_RETURN(const Digest digest,
                              Md5([&](std::span<uint8_t> to) { return archive->Read(to); }));
        reports[i] = {name, FileState::kFound, ""};
        Compare(set.files[i], digest, reports[i]);
      }
    }
  };
  if (status = read(); status.ok()) return reports;
  for (FileReport& report : reports) {
    if (report.state != FileState::kMissing) continue;
    report.state = FileState::kUnreadable;
    report.detail = std::string(status.message());
  }
  return reports;
}

bool HoldsNpz(const fs::path& folder) {
  const absl::StatusOr<std::vector<std::string>> names = FilesIn(folder.string());
  return names.ok() && std::ranges::any_of(
                           *names, [](const std::string& name) { return name.ends_with(".npz"); });
}

std::optional<std::string> ArchiveOf(const Set& set, const std::string& path) {
  std::error_code error;
  if (set.archive.empty()) return std::nullopt;
  if (fs::is_regular_file(path, error)) return path;
  const fs::path inside = fs::path(path) / set.archive;
  if (fs::exists(inside, error)) return inside.string();
  return std::nullopt;
}

}  // namespace

absl::StatusOr<FilesReport> CheckFiles(std::string_view dataset, const std::string& path,
                                       bool large_files) {
  for (const Set& set : Sets()) {
    if (set.name != dataset) continue;
    FilesReport report = {{}, set.how_to_get};
    std::vector<fs::path> folders = {path};
    if (!set.folder.empty()) folders.push_back(fs::path(path) / set.folder);
    size_t missing = 0;
    for (const Expected& file : set.files) {
      report.files.push_back(CheckFile(file, folders, set.contents, large_files));
      if (report.files.back().state == FileState::kMissing) ++missing;
    }
    const std::optional<std::string> archive = ArchiveOf(set, path);
    if (missing == set.files.size() && archive) report.files = CheckMembers(set, *archive);
    // ImageNet's other form has as many files as its maker liked.
    const fs::path root = path;
    if (dataset == "imagenet" && missing == set.files.size() &&
        (HoldsNpz(root) || HoldsNpz(root / "train"))) {
      report.files.clear();
    }
    return report;
  }
  return InvalidArgument("unknown data set \"", dataset, "\"");
}

}  // namespace dtnn
