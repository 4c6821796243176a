// The answers of a network as lines of text, CSV or one JSON array.

#ifndef DTNN_APPS_PREDICT_ANSWER_WRITER_H_
#define DTNN_APPS_PREDICT_ANSWER_WRITER_H_

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

namespace dtnn {

struct Prediction {
  int64_t index = 0;  // of the class
  std::string name;   // of the class
  double value = 0;   // a probability, or what else the network's last layer gives
};

class AnswerWriter {
 public:
  // `format`: text, csv or json. `probabilities`: whether the values are some, which the text shows
  // in per cent. Writes what comes before the first answer.
  AnswerWriter(std::string_view format, bool probabilities, std::ostream& out);

  // The classes of a file, the best first.
  void Write(const std::string& file, std::span<const Prediction> best);
  // A file without an answer; only JSON has a place for it.
  void WriteError(const std::string& file, std::string_view error);
  // What comes after the last answer.
  void Finish();

 private:
  void WriteCsv(const std::string& file, std::span<const Prediction> best);
  void WriteJson(const std::string& file, std::span<const Prediction> best);
  void WriteText(const std::string& file, std::span<const Prediction> best);
  void BeginJsonItem(const std::string& file);

  enum class Format : uint8_t { kText, kCsv, kJson };
  Format format_;
  bool probabilities_;
  bool empty_ = true;  // no JSON item yet
  std::ostream& out_;
};

}  // namespace dtnn

#endif  // DTNN_APPS_PREDICT_ANSWER_WRITER_H_
