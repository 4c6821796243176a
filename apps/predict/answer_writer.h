// The answers of a network as lines of text, CSV or one JSON array. Probabilities of classes or
// labels are called so, and the text shows them in per cent; quantities are values. Of images whose
// pixels have classes, the answers are the names of the files that show these.

#ifndef DTNN_APPS_PREDICT_ANSWER_WRITER_H_
#define DTNN_APPS_PREDICT_ANSWER_WRITER_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "models/serving/best_predictions.h"
#include "models/serving/predictor.h"

namespace dtnn {

class AnswerWriter {
 public:
  // `format`: text, csv or json. Writes what comes before the first answer. nullopt: all answers
  // are masks.
  AnswerWriter(std::string_view format, std::optional<OutputKind> kind, std::ostream& out);

  // What a file has, in the order of the text; empty: none of the labels.
  void Write(const std::string& file, std::span<const Prediction> best);
  // `mask`: the file that has been written.
  void WriteMask(const std::string& file, const std::string& mask);
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
  std::optional<OutputKind> kind_;
  bool empty_ = true;  // no JSON item yet
  std::ostream& out_;
};

}  // namespace dtnn

#endif  // DTNN_APPS_PREDICT_ANSWER_WRITER_H_
