// A connection to one other process as a stream of bytes that never blocks.
//
// A reader reads until nothing comes: a stream may hold bytes that poll does not know of.

#ifndef DTNN_COMM_TRANSPORT_STREAM_H_
#define DTNN_COMM_TRANSPORT_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace dtnn {

// Beside a stream that moves bytes without the system's help, so that poll does not see them.
class Unpolled {
 public:
  virtual ~Unpolled() = default;

  // Whether there is something to read, or room again after a Write that fell short. Costs a few
  // loads.
  virtual bool ready() const = 0;
  // Before poll: lets the descriptor become readable once this is ready. Answers whether it is so
  // already.
  virtual bool Watch() = 0;
  // Before this thread looks again and again instead: spares the other side the trouble.
  virtual void Unwatch() = 0;
};

class Stream {
 public:
  virtual ~Stream() = default;

  // How many bytes were moved; 0: none at the moment. OutOfRange where the other side has closed
  // the connection, Unavailable where it broke.
  virtual absl::StatusOr<size_t> Read(std::span<std::byte> into) = 0;
  // The ranges one after another.
  virtual absl::StatusOr<size_t> Write(std::span<const std::span<const std::byte>> from) = 0;
  // Nothing more is written.
  virtual void CloseWriting() = 0;
  // For one of thousands, once connected: the system's buffers of a connection, which else grow to
  // megabytes each, stay below half of one. They are all that an other side fills that is not read,
  // and systems have a limit for the sum of all. A stream over another one has none.
  virtual void KeepBuffersShort() {}
  // For one that sends megabytes to an other side that may be slow: the system takes no more bytes
  // than are on their way to it and an eighth of a megabyte, whatever its buffers could hold.
  virtual void KeepUnsentShort() {}

  // For poll: always for reading, and for writing after a Write that fell short, or where this asks
  // for it.
  virtual int descriptor() const = 0;
  virtual bool wants_to_write() const { return false; }
  // A Write that fell short moves nothing before something was read.
  virtual bool writes_after_reading() const { return false; }
  // Null: poll sees all bytes.
  virtual Unpolled* unpolled() { return nullptr; }

  // The same at both ends, and of no other connection: what one end signs together with it proves
  // nothing over another one, even where a third process carries all bytes between the two. Once
  // connected. Empty where nothing but the network says which ends these are. A stream over another
  // one has that one's.
  virtual absl::StatusOr<std::vector<uint8_t>> binding() const = 0;
};

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_STREAM_H_
