#include "apps/launch/line_relay.h"

#include <algorithm>

#include "apps/program/log.h"

namespace dtnn {

void LineRelay::Take(std::string_view bytes) {
  std::string lines;  // written at once
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const size_t count = std::min({end, bytes.size(), kMostBytes - line_.size()});
    line_ += bytes.substr(0, count);
    bytes.remove_prefix(count);
    const bool ended = bytes.starts_with('\n');
    if (ended) bytes.remove_prefix(1);
    if (!ended && line_.size() < kMostBytes) break;
    if (!RelayLog(out_, line_, rank_)) lines += prefix_ + line_ + '\n';
    line_.clear();
  }
  if (!lines.empty()) out_ << lines << std::flush;
}

void LineRelay::Finish() {
  if (!line_.empty() && !RelayLog(out_, line_, rank_)) {
    out_ << prefix_ + line_ + '\n' << std::flush;
  }
  line_.clear();
}

}  // namespace dtnn
