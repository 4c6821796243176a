// Numbers and bytes one after another, little endian, whatever the machine is: messages of the
// libraries beside this one. Frames of one machine type (comm/transport/tcp, comm/ranks/group) stay
// structs.
//
// A reader never reads past the end and never allocates: it hands out spans of what it was given.
// After the first piece that is missing it gives zeros and empty spans, and Done() is an error, so
// a parser asks once, after the last piece.

#ifndef DTNN_COMM_WIRE_WIRE_H_
#define DTNN_COMM_WIRE_WIRE_H_

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "tensor/errors.h"

namespace dtnn {

// One number; arrays of them, whose length their messages say.
template <std::unsigned_integral T>
void StoreLittleEndian(T value, uint8_t* to) {
  for (size_t i = 0; i < sizeof(T); ++i) to[i] = uint8_t(uint64_t{value} >> (8 * i));
}
template <std::unsigned_integral T>
T LoadLittleEndian(const uint8_t* from) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= uint64_t{from[i]} << (8 * i);
  return T(value);
}

class WireWriter {
 public:
  template <std::unsigned_integral T>
  void Number(T value) {
    bytes_.resize(bytes_.size() + sizeof(T));
    StoreLittleEndian(value, bytes_.data() + bytes_.size() - sizeof(T));
  }
  void Bytes(std::span<const uint8_t> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }

  std::vector<uint8_t> Take() && { return std::move(bytes_); }
  std::span<const uint8_t> bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

class WireReader {
 public:
  // `what` begins the messages of errors. The bytes must outlive the reader.
  WireReader(std::span<const uint8_t> bytes, std::string_view what) : rest_(bytes), what_(what) {}

  template <std::unsigned_integral T>
  T Number() {
    const std::span<const uint8_t> bytes = Bytes(sizeof(T));
    return bytes.empty() ? T{0} : LoadLittleEndian<T>(bytes.data());
  }
  std::span<const uint8_t> Bytes(size_t count) {
    if (missing_ || count > rest_.size()) {
      missing_ = true;
      return {};
    }
    const std::span<const uint8_t> bytes = rest_.first(count);
    rest_ = rest_.subspan(count);
    return bytes;
  }
  std::span<const uint8_t> Rest() { return Bytes(rest_.size()); }

  // DataLoss where pieces were missing or bytes are left.
  absl::Status Done() const {
    if (missing_) return DataLoss(what_, ": ends too early");
    if (!rest_.empty()) return DataLoss(what_, ": has ", rest_.size(), " bytes too many");
    return absl::OkStatus();
  }

 private:
  std::span<const uint8_t> rest_;
  std::string_view what_;
  bool missing_ = false;
};

}  // namespace dtnn

#endif  // DTNN_COMM_WIRE_WIRE_H_
