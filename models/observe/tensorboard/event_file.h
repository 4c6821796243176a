// A file of events for TensorBoard: records in TFRecord's framing, each an Event (event.proto).
//
// It grows as events are added. What is added is written at once, and where the disk takes only a
// part of it, that part is cut off again: TensorBoard, which may be reading, never sees half a
// record for good.

#ifndef DTNN_MODELS_OBSERVE_TENSORBOARD_EVENT_FILE_H_
#define DTNN_MODELS_OBSERVE_TENSORBOARD_EVENT_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/observe/tensorboard/event.pb.h"

namespace dtnn {

class EventFile {
 public:
  // A new file in `folder`, which is made where it is missing. Its name sorts after those of all
  // event files there, so that what a resumed run writes is read last. It begins with the version
  // and with a start of a session at `first_step`, from which on TensorBoard forgets what earlier
  // files say.
  static absl::StatusOr<EventFile> Create(std::string_view folder, int64_t first_step);
  ~EventFile();
  EventFile(EventFile&& other) noexcept;
  EventFile& operator=(EventFile&&) = delete;

  // With the time of now.
  absl::Status Add(tensorboard::Event event);
  const std::string& path() const { return path_; }

 private:
  EventFile(std::string path, int file) : path_(std::move(path)), file_(file) {}

  std::string path_;
  int file_;  // -1: moved from
  int64_t size_ = 0;
};

// Whether Create will work: the folder is one or can be made, and takes files.
absl::Status CheckEventFolder(std::string_view folder);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_TENSORBOARD_EVENT_FILE_H_
