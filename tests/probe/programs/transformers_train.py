"""transformers' Trainer on a small BERT: accumulation, clipping, a schedule, evaluation, a checkpoint."""

import os
import sys

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed


class Sentences(torch.utils.data.Dataset):
    def __init__(self, size, seed):
        generator = torch.Generator().manual_seed(seed)
        self.words = torch.randint(3, 50, (size, 12), generator=generator)

    def __len__(self):
        return len(self.words)

    def __getitem__(self, index):
        words = self.words[index]
        return {
            "input_ids": words,
            "attention_mask": torch.ones_like(words),
            "labels": int(words[:6].sum() > words[6:].sum()),
        }


set_seed(int(sys.argv[2]))
config = BertConfig(
    vocab_size=50,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=32,
    max_position_embeddings=16,
    num_labels=2,
)
arguments = TrainingArguments(
    output_dir=sys.argv[1],
    num_train_epochs=2,
    per_device_train_batch_size=8,
    per_device_eval_batch_size=16,
    gradient_accumulation_steps=int(os.environ.get("ACCUMULATE", "1")),
    max_grad_norm=0.5,
    learning_rate=0.01,
    lr_scheduler_type="linear",
    seed=int(sys.argv[2]),
    eval_strategy="epoch",
    save_strategy="epoch",
    logging_steps=1,
    report_to="none",
    disable_tqdm=True,
    use_cpu=True,
)
trainer = Trainer(
    model=BertForSequenceClassification(config),
    args=arguments,
    train_dataset=Sentences(64, 3),
    eval_dataset=Sentences(32, 4),
    compute_metrics=lambda found: {
        "accuracy": float((found.predictions.argmax(1) == found.label_ids).mean())
    },
)
trainer.train()
print(trainer.evaluate())
