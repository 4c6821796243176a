#include "models/observe/tensorboard/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_format.h"
#include "data/formats/tf_record.h"
#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"
#include "tensor/files/make_folder.h"
#include "tensor/text/number.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "events.out.tfevents.";
constexpr int kTries = 1000;

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// The largest time in the names of event files; 0: there are none.
int64_t NewestTime(const fs::path& folder) {
  int64_t newest = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    const std::string_view rest = std::string_view(name).substr(kPrefix.size());
    const std::string_view digits = rest.substr(0, rest.find_first_not_of("0123456789"));
    const std::optional<int64_t> time = NumberIn<int64_t>(digits);
    if (time && digits.size() == 10) newest = std::max(newest, *time);
  }
  return newest;
}

std::string HostName() {
  char name[256] = {};
  if (gethostname(name, sizeof(name) - 1) != 0) return "host";
  return name;
}

absl::Status Failed(std::string_view path, std::string_view step) {
  return absl::ErrnoToStatus(errno, StrCat(path, ": ", step));
}

absl::Status MakeEventFolder(std::string_view folder) {
  return MakeFolder(folder, StrCat(folder, ": is not a folder and cannot be created"));
}

}  // namespace

absl::StatusOr<EventFile> EventFile::Create(std::string_view folder, int64_t first_step) {
  DTNN_RETURN_IF_ERROR(MakeEventFolder(folder));
  int64_t time = std::max(int64_t{std::time(nullptr)}, NewestTime(folder) + 1);
  std::string path;
  int file = -1;
  for (int i = 0; i < kTries && file < 0; ++i) {  // others may make the same
    path =
        absl::StrFormat("%s/%s%010d.%s.%d.%d", folder, kPrefix, time + i, HostName(), getpid(), i);
    file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0 && errno != EEXIST) return Failed(path, "cannot be made");
  }
  if (file < 0) return FailedPrecondition(path, ": exists, and so do all names like it");
  EventFile events(std::move(path), file);
  tensorboard::Event version;
  version.set_file_version("brain.Event:2");
  DTNN_RETURN_IF_ERROR(events.Add(std::move(version)));
  tensorboard::Event start;
  start.set_step(first_step);
  start.mutable_session_log()->set_status(1);
  DTNN_RETURN_IF_ERROR(events.Add(std::move(start)));
  return events;
}

EventFile::~EventFile() {
  if (file_ >= 0) close(file_);
}

EventFile::EventFile(EventFile&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)), size_(other.size_) {}

absl::Status EventFile::Add(tensorboard::Event event) {
  event.set_wall_time(Now());
  const std::string record = TfRecordBytes(event.SerializeAsString());
  size_t written = 0;
  while (written < record.size()) {
    const ssize_t count = write(file_, record.data() + written, record.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const absl::Status status = Failed(path_, "write");
      if (ftruncate(file_, size_) != 0) return Failed(path_, "cutting off half a record");
      return status;
    }
    written += size_t(count);
  }
  size_ += int64_t(record.size());
  return absl::OkStatus();
}

absl::Status CheckEventFolder(std::string_view folder) {
  DTNN_RETURN_IF_ERROR(MakeEventFolder(folder));
  return AtomicFile::Create(StrCat(folder, "/", kPrefix, "check")).status();
}

}  // namespace dtnn
