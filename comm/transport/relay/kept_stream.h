// A stream that says when it is gone, and keeps until then what it needs.

#ifndef DTNN_COMM_TRANSPORT_RELAY_KEPT_STREAM_H_
#define DTNN_COMM_TRANSPORT_RELAY_KEPT_STREAM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/transport/stream.h"

namespace dtnn {

class KeptStream : public Stream {
 public:
  // `when_gone` holds what the stream needs.
  KeptStream(std::unique_ptr<Stream> stream, std::function<void()> when_gone)
      : stream_(std::move(stream)), when_gone_(std::move(when_gone)) {}
  ~KeptStream() override {
    stream_->CloseWriting();
    stream_ = nullptr;
    when_gone_();
  }

  absl::StatusOr<size_t> Read(std::span<std::byte> into) override { return stream_->Read(into); }
  absl::StatusOr<size_t> Write(std::span<const std::span<const std::byte>> from) override {
    return stream_->Write(from);
  }
  void CloseWriting() override { stream_->CloseWriting(); }
  int descriptor() const override { return stream_->descriptor(); }
  bool writes_after_reading() const override { return stream_->writes_after_reading(); }
  absl::StatusOr<std::vector<uint8_t>> binding() const override { return stream_->binding(); }

 private:
  std::unique_ptr<Stream> stream_;
  const std::function<void()> when_gone_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_RELAY_KEPT_STREAM_H_
