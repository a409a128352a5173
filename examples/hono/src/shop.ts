// What a shop has elsewhere: its users, and a payment provider.

export interface Order {
  id: string;
  user: string;
  item: string;
}

const users: Record<string, string> = { "Bearer token-of-ann": "ann", "Bearer token-of-bob": "bob" };

export const userOf = (authorization = "") => users[authorization];

export async function charge(card: string): Promise<void> {
  if (card === "card_broken") throw new Error("the payment provider does not respond");
}
