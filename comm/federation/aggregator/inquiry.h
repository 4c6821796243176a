// What the aggregator wants of clients that it has asked, as the roster of their connections sees
// it: says what they may send, and takes it. `position`: of a client among those that were asked.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_INQUIRY_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_INQUIRY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "comm/federation/frame.h"

namespace dtnn::federation {

class Inquiry {
 public:
  virtual ~Inquiry() = default;

  // The number of the frames that belong to it.
  virtual uint64_t number() const = 0;
  // The longest body that a client at this position may send now; Channel::kLater where it has to
  // wait for others, nothing where it may not send such a frame. It does send what it may.
  virtual std::optional<size_t> Allowed(int position, const FrameHeader& header) = 0;
  // Bytes of this position have come.
  virtual void Hear(int position) = 0;
  // Whatever is wrong with it leaves the client out.
  virtual void Take(int position, Frame frame) = 0;
  // Its connection is gone, or it breaks the rules.
  virtual void Lose(int position, const std::string& why) = 0;
  // What still comes is counted and thrown away.
  virtual bool over() const = 0;
  // The position is done with: its client may be asked again.
  virtual bool answered(int position) const = 0;
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_INQUIRY_H_
