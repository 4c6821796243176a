#include "apps/convert_imagenet/run.h"

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "comm/ranks/job/exit_code.h"
#include "data/datasets/imagenet/imagenet_archives.h"
#include "data/datasets/imagenet/imagenet_shard.h"
#include "data/files/folder_listing.h"
#include "data/formats/tf_example.h"
#include "data/formats/tf_record.h"
#include "data/loading/shuffle.h"
#include "tensor/errors.h"
#include "tensor/files/make_folder.h"
#include "tensor/files/output_file.h"
#include "tensor/philox.h"
#include "tensor/text/counted.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;

// One file to be written.
struct Job {
  std::string output;
  std::string source;  // what it is made from: decides its images, as far as that is soon known
  int64_t expected_images = 1251;
  std::function<absl::Status(ImagenetShard&)> fill;
};

absl::Status AddRecords(const std::string& path, ImagenetShard& shard) {
  DTNN_ASSIGN_OR_RETURN(TfRecordReader reader, TfRecordReader::Open(path));
  std::vector<uint8_t> record;
  for (;;) {
    DTNN_ASSIGN_OR_RETURN(const bool more, reader.Next(record));
    if (!more) return absl::OkStatus();
    const std::string place = reader.Place();
    DTNN_ASSIGN_OR_RETURN(const LabelledImage image, ParseImageExample(record, place));
    DTNN_RETURN_IF_ERROR(shard.Add(image.encoded, image.label, place));
  }
}

absl::StatusOr<std::string> WithSize(std::string_view what, const fs::path& path) {
  std::error_code error;
  const uintmax_t bytes = fs::file_size(path, error);
  if (error) return NotFound(path.string(), ": ", error.message());
  return StrCat(what, " of ", bytes, " bytes");
}

// "train-00000-of-01024": no ending.
bool IsRecordFile(const std::string& name, const std::string& part) {
  return name.starts_with(part + "-") && name.find("-of-") != std::string::npos &&
         name.find('.') == std::string::npos;
}

absl::StatusOr<std::vector<Job>> RecordJobs(const ConvertOptions& options,
                                            const std::string& part) {
  std::map<std::string, std::string> inputs;  // by their names
  for (const fs::path& folder : {fs::path(options.input), fs::path(options.input) / part}) {
    DTNN_ASSIGN_OR_RETURN(const PathKind kind, LookAt(folder.string()));
    if (kind != PathKind::kFolder) continue;
    DTNN_ASSIGN_OR_RETURN(const std::vector<std::string> names, FilesIn(folder.string()));
    for (const std::string& name : names) {
      if (!IsRecordFile(name, part)) continue;
      const std::string path = (folder / name).string();
      const auto& [at, is_new] = inputs.emplace(name, path);
      if (is_new) continue;
      return InvalidArgument(at->second, " and ", path, ": both would become ", name,
                             ".npz; remove one of them");
    }
  }
  std::vector<Job> jobs;
  for (const auto& [name, path] : inputs) {
    DTNN_ASSIGN_OR_RETURN(std::string source, WithSize("a TFRecord file", path));
    jobs.push_back(
        {.output = (fs::path(options.output) / (name + ".npz")).string(),
         .source = std::move(source),
         .fill = [path = path](ImagenetShard& shard) { return AddRecords(path, shard); }});
  }
  return jobs;
}

// `files` lives as long as the jobs.
absl::StatusOr<std::vector<Job>> ArchiveJobs(const ConvertOptions& options, const std::string& part,
                                             const LabelledFiles& files, int64_t count) {
  const bool train = part == "train";
  const char* const name = train ? kImagenetTrainTar : kImagenetValidationTar;
  DTNN_ASSIGN_OR_RETURN(const std::string archive, WithSize(name, fs::path(options.input) / name));
  const int64_t images = files.files.size();
  auto order = std::make_shared<std::vector<int64_t>>(size_t(images));
  std::iota(order->begin(), order->end(), 0);
  // The archive is sorted by class; a file of one class alone could not be trained from in order.
  if (train) Shuffle(Philox(0, StreamId(RandomPurpose::kShuffle)), *order);
  std::vector<Job> jobs;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = images * i / count, end = images * (i + 1) / count;
    const std::string output = absl::StrFormat("%s-%05d-of-%05d.npz", part, i, count);
    jobs.push_back({(fs::path(options.output) / output).string(),
                    StrCat(archive, ", ", end - begin, " of its ", Counted(images, "image"),
                           " from ", begin, " on", train ? ", shuffled" : ""),
                    end - begin, [&files, order, begin, end](ImagenetShard& shard) {
                      std::vector<uint8_t> bytes;
                      for (int64_t at = begin; at < end; ++at) {
                        const int64_t file = (*order)[size_t(at)];
                        DTNN_RETURN_IF_ERROR(files.files.Read(file, bytes));
                        DTNN_RETURN_IF_ERROR(shard.Add(bytes, files.labels[size_t(file)] + 1,
                                                       files.files.Name(file)));
                      }
                      return absl::OkStatus();
                    }});
  }
  return jobs;
}

class Conversion {
 public:
  Conversion(const ConvertOptions& options, std::ostream& out) : options_(options), out_(out) {}

  absl::Status Run(const std::vector<Job>& jobs) {
    total_ = int64_t(jobs.size());
    for (const Job& job : jobs) DTNN_RETURN_IF_ERROR(LookAtOutput(job));
    DTNN_RETURN_IF_ERROR(CheckOthers(jobs));
    std::atomic<size_t> next = 0;  // a free thread takes the next one
    ParallelThreads(NumThreads(), [&](int) {
      for (size_t i = next++; i < jobs.size() && !failed_; i = next++) Convert(jobs[i]);
    });
    if (status_.ok()) {
      out_ << StrCat(Counted(written_, "file"), " with ", Counted(images_, "image"), " written to ",
                     options_.output, ", ", Counted(kept_, "file"), kept_ == 1 ? " was" : " were",
                     " there already\n");
    }
    return status_;
  }

 private:
  // What is there already is of this conversion, or stays.
  absl::Status LookAtOutput(const Job& job) {
    std::string source;
    DTNN_RETURN_IF_ERROR(
        CheckOutputFile(job.output, "a file of ImageNet's images", [&](std::string_view) {
          absl::StatusOr<std::string> read = ImagenetShardSource(job.output);
          if (!read.ok()) return false;
          source = *std::move(read);
          present_.insert(job.output);
          return true;
        }));
    if (!present_.contains(job.output) || source == job.source) return absl::OkStatus();
    return FailedPrecondition(
        job.output, ": ",
        source.empty() ? "does not say what it was made from" : StrCat("was made from ", source),
        "; now it would be from ", job.source,
        ". It is of another conversion: delete it, or choose another folder");
  }

  // Files of another conversion would be read beside the new ones.
  absl::Status CheckOthers(const std::vector<Job>& jobs) const {
    std::set<std::string> outputs;
    for (const Job& job : jobs) outputs.insert(job.output);
    DTNN_ASSIGN_OR_RETURN(const std::vector<std::string> names, FilesIn(options_.output));
    for (const char* const part : {"train-", "validation-"}) {
      if (options_.part != "all" && !StrCat(part).starts_with(options_.part)) continue;
      for (const std::string& name : names) {
        const std::string path = (fs::path(options_.output) / name).string();
        if (!name.starts_with(part) || !name.ends_with(".npz") || outputs.contains(path)) continue;
        return FailedPrecondition(path,
                                  ": is of another conversion, and would be read beside the "
                                  "files of this one; delete it, or choose another folder");
      }
    }
    return absl::OkStatus();
  }

  void Convert(const Job& job) {
    if (present_.contains(job.output)) {
      std::lock_guard<std::mutex> lock(mutex_);
      ++kept_;
      return;
    }
    absl::StatusOr<int64_t> images =
        absl::ResourceExhaustedError(StrCat(job.output, ": not enough memory for its images"));
    try {
      images = Write(job);
    } catch (const std::bad_alloc&) {  // which would end the program from this thread
    }
    std::lock_guard<std::mutex> lock(mutex_);
    if (!images.ok()) {
      if (status_.ok()) status_ = images.status();
      failed_ = true;
      return;
    }
    ++written_;
    images_ += *images;
    out_ << StrCat(fs::path(job.output).filename().string(), ": ", Counted(*images, "image"), " (",
                   written_ + kept_, " of ", Counted(total_, "file"), ")\n");
    out_.flush();
  }

  absl::StatusOr<int64_t> Write(const Job& job) const {
    DTNN_ASSIGN_OR_RETURN(ImagenetShard shard, ImagenetShard::Create(job.expected_images));
    DTNN_RETURN_IF_ERROR(job.fill(shard));
    DTNN_RETURN_IF_ERROR(
        shard.Write(job.output, job.source,
                    options_.stored ? NpzCompression::kStored : NpzCompression::kDeflated));
    return shard.size();
  }

  const ConvertOptions& options_;
  std::ostream& out_;
  std::set<std::string> present_;  // outputs that are there
  std::mutex mutex_;
  std::atomic<bool> failed_ = false;
  int64_t total_ = 0, written_ = 0, kept_ = 0, images_ = 0;
  absl::Status status_;
};

absl::Status Check(const ConvertOptions& options) {
  if (options.input.empty() || options.output.empty()) {
    return UsageError("--input and --output: missing; name both folders (see --help)");
  }
  if (options.part != "all" && options.part != "train" && options.part != "validation") {
    return UsageError("--part=", options.part, ": expected all, train or validation");
  }
  return WithContext(CheckFolder(options.input), "--input");
}

}  // namespace

absl::Status ConvertImagenet(const ConvertOptions& options, std::ostream& out) {
  DTNN_RETURN_IF_ERROR(Check(options));
  const auto wanted = [&](const char* part) {
    return options.part == "all" || options.part == part;
  };
  const auto archive = [&](const char* part, const char* name) {
    std::error_code error;
    const bool found = wanted(part) && fs::exists(fs::path(options.input) / name, error);
    return found ? options.input : std::string();
  };
  std::vector<Job> jobs;
  const auto add = [&](std::vector<Job> more) {
    jobs.insert(jobs.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
  };
  for (const char* part : {"train", "validation"}) {
    if (!wanted(part)) continue;
    DTNN_ASSIGN_OR_RETURN(std::vector<Job> records, RecordJobs(options, part));
    add(std::move(records));
  }
  ImagenetArchives archives;
  if (jobs.empty()) {
    const std::string train = archive("train", kImagenetTrainTar);
    const std::string validation = archive("validation", kImagenetValidationTar);
    if (train.empty() && validation.empty()) {
      return NotFound(options.input,
                      ": contains neither TFRecord files (train-00000-of-01024, "
                      "validation-00000-of-00128, ...) nor ",
                      kImagenetTrainTar, " or ", kImagenetValidationTar);
    }
    DTNN_ASSIGN_OR_RETURN(archives, IndexImagenet(train, validation));
    if (!train.empty()) {
      DTNN_ASSIGN_OR_RETURN(std::vector<Job> more,
                            ArchiveJobs(options, "train", archives.train, options.train_files));
      add(std::move(more));
    }
    if (!validation.empty()) {
      DTNN_ASSIGN_OR_RETURN(
          std::vector<Job> more,
          ArchiveJobs(options, "validation", archives.validation, options.validation_files));
      add(std::move(more));
    }
  }
  DTNN_RETURN_IF_ERROR(MakeFolder(options.output, StrCat(options.output, ": cannot be created")));
  return Conversion(options, out).Run(jobs);
}

}  // namespace dtnn
